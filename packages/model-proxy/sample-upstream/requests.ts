/** What a request for a model says, as far as the sample has to know it. The bodies are foreign: nothing is taken on trust. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []; // an array of anything
}

/** A body that is no JSON object is null. */
export function parseObject(body: Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null; // that is the answer
  }
}

/** The text that was put in, whatever it is called: the last message, `prompt`, or `input`. */
export function inputText(request: JsonObject): string {
  const { messages, prompt, input } = request;
  if (messages !== undefined) return contentText(arrayOf(messages).at(-1));
  const text = prompt ?? input;
  return Array.isArray(text)
    ? text.map((item) => (typeof item === 'string' ? item : contentText(item))).join(' ')
    : str(text);
}

/** A message's content: a text, or parts of which the texts count. */
function contentText(message: unknown): string {
  if (!isObject(message)) return '';
  const { content } = message;
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((part) => (isObject(part) ? str(part['text']) : ''))
    .join(' ');
}

function str(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** How long it is, in tokens; of this sample a token is a word. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** Upper bound on generated tokens. */
export function maxTokens(request: JsonObject): number {
  const bound = request['max_completion_tokens'] ?? request['max_tokens'] ?? request['max_output_tokens'];
  return typeof bound === 'number' ? bound : Number.POSITIVE_INFINITY;
}

/** The first function tool that the request offers and that has not been answered yet; undefined: none is to be called. */
export function toolToCall(request: JsonObject): { readonly name: string; readonly arguments: string } | undefined {
  const last = arrayOf(request['messages']).at(-1);
  if (request['tool_choice'] === 'none' || (isObject(last) && last['role'] === 'tool')) return undefined;
  const [tool] = arrayOf(request['tools']);
  if (!isObject(tool) || !isObject(tool['function'])) return undefined;
  const { name, parameters } = tool['function'];
  const properties = isObject(parameters) && isObject(parameters['properties']) ? parameters['properties'] : {};
  const values = Object.entries(properties).map(([key, schema]) => [key, exampleOf(schema)]);
  return { name: str(name), arguments: JSON.stringify(Object.fromEntries(values)) };
}

/** A value that the schema of a tool's argument admits. */
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
