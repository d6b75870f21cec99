/** Reads requests for a model, without trust in their content. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []; // the members of a list have any type
}

/** Parses a body; null if it is not a JSON object. */
export function parseObject(body: Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null; // the body is not JSON
  }
}

/** Returns the input text: the last message, `prompt` or `input`. */
export function inputText(request: JsonObject): string {
  const { messages, prompt, input } = request;
  if (messages !== undefined) return contentText(arrayOf(messages).at(-1));
  const text = prompt ?? input;
  return Array.isArray(text)
    ? text.map((item) => (typeof item === 'string' ? item : contentText(item))).join(' ')
    : stringOf(text);
}

/** Returns the text of a message's content, which is a string or a list of parts. */
function contentText(message: unknown): string {
  if (!isObject(message)) return '';
  const { content } = message;
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((part) => (isObject(part) ? stringOf(part['text']) : ''))
    .join(' ');
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Splits a text into tokens. In this sample, a token is a word. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** Returns the maximum number of generated tokens. */
export function maxTokens(request: JsonObject): number {
  const bound = request['max_completion_tokens'] ?? request['max_tokens'] ?? request['max_output_tokens'];
  return typeof bound === 'number' ? bound : Number.POSITIVE_INFINITY;
}

/**
 * Returns a call of the first offered tool. Undefined if there is no tool, if the first tool is no function, if the
 * request forbids calls, or if the last message of the request is the result of a call.
 */
export function toolToCall(request: JsonObject): { readonly name: string; readonly arguments: string } | undefined {
  const last = arrayOf(request['messages']).at(-1);
  if (request['tool_choice'] === 'none' || (isObject(last) && last['role'] === 'tool')) return undefined;
  const [tool] = arrayOf(request['tools']);
  if (!isObject(tool) || !isObject(tool['function'])) return undefined;
  const { name, parameters } = tool['function'];
  const properties = isObject(parameters) && isObject(parameters['properties']) ? parameters['properties'] : {};
  const values = Object.entries(properties).map(([key, schema]) => [key, exampleOf(schema)]);
  return { name: stringOf(name), arguments: JSON.stringify(Object.fromEntries(values)) };
}

/** Returns a value that fits the schema of a tool's argument. */
function exampleOf(schema: unknown): unknown {
  if (!isObject(schema)) return null;
  const [first] = arrayOf(schema['enum']);
  if (first !== undefined) return first;
  switch (schema['type']) {
    case 'string':
      return 'sample';
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    default:
      return {};
  }
}
