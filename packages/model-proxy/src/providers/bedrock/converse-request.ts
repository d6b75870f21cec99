/**
 * Translates requests for chat to Bedrock's Converse API.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
import type { Block } from '../anthropic/content.js';
import { anthropicRequest } from '../anthropic/request.js';
import { recordOf, recordsOf } from '../anthropic/values.js';
import type { DialectCall } from '../dialect.js';
import { requestValue, type RequestMembers } from '../request-members.js';
import { converseBlock, DocumentNames, withCachePoints } from './converse-blocks.js';

/** Members of Converse that clients may send. */
const ownMembers = [
  ...['additionalModelRequestFields', 'additionalModelResponseFieldPaths', 'guardrailConfig'],
  ...['performanceConfig', 'requestMetadata', 'serviceTier'],
];

/** Members that this file translates, copies or omits. All others become `additionalModelRequestFields`. */
const translated: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p'],
  ...['tools', 'tool_choice', 'metadata', 'output_config', ...ownMembers],
]);

/** Returns whether a model is one of Anthropic's. Only these understand `thinking` and `output_config`. */
export const isClaudeModel = (model: string): boolean => model.includes('claude');

/**
 * Translates a request. Parameters of the model, such as `top_k`, become `additionalModelRequestFields`.
 * @throws {ProxyError} 400: Converse cannot express the request.
 */
export function converseRequest(members: RequestMembers, call: DialectCall): Map<string, Buffer> {
  const source = anthropicRequest(members, call);
  const value = (name: string): unknown => {
    const bytes = source.get(name);
    return bytes === undefined ? undefined : requestValue(name, bytes);
  };
  const body = new Map<string, Buffer>();
  const set = (name: string, member: object | undefined): void => {
    if (member !== undefined && Object.keys(member).length > 0) body.set(name, Buffer.from(JSON.stringify(member)));
  };
  const messages = recordsOf(value('messages'));
  const names = new DocumentNames();
  const translate = (block: Block): Block => converseBlock(block, names);
  set(
    'messages',
    messages.map(({ role, content }) => ({ role, content: withCachePoints(recordsOf(content), translate) })),
  );
  set('system', withCachePoints(recordsOf(value('system')), translate));
  const isClaude = isClaudeModel(call.model);
  // Each model has its own default for `maxTokens`. Only thinking needs a larger number.
  const hasLimit = ['max_tokens', 'max_completion_tokens'].some((name) => members.bytes(name) !== undefined);
  const inference = {
    maxTokens: hasLimit || (isClaude && source.has('thinking')) ? value('max_tokens') : undefined,
    temperature: value('temperature'),
    topP: value('top_p'),
    stopSequences: value('stop_sequences'),
  };
  set('inferenceConfig', withoutUndefined(inference));
  set('toolConfig', toolConfig(recordsOf(value('tools')), recordOf(value('tool_choice')), messages));
  const { format, ...effort } = recordOf(value('output_config')) ?? {};
  set('outputConfig', outputConfig(recordOf(format)));
  const others: Record<string, unknown> = {};
  for (const name of source.keys())
    if (!translated.has(name) && (isClaude || name !== 'thinking')) others[name] = value(name);
  // Only Anthropic's models understand `thinking`. All other models get `reasoning_effort`, as in OpenAI's API.
  const givenEffort = isClaude ? undefined : members.bytes('reasoning_effort');
  set('additionalModelRequestFields', {
    ...recordOf(value('additionalModelRequestFields')),
    ...others,
    ...(isClaude && Object.keys(effort).length > 0 ? { output_config: effort } : {}),
    ...(givenEffort === undefined ? {} : { reasoning_effort: JSON.parse(givenEffort.toString()) as unknown }),
  });
  for (const name of ownMembers) {
    const bytes = source.get(name);
    if (bytes !== undefined && !body.has(name)) body.set(name, bytes);
  }
  return body;
}

const withoutUndefined = (values: Block): Block =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/**
 * Returns the tools and the choice. Converse has no choice `none`, so this choice omits the tools. Exception:
 * if a message has a tool call or a result, the tools stay, because Converse then requires the list.
 */
function toolConfig(tools: readonly Block[], choice: Block | undefined, messages: readonly Block[]): Block | undefined {
  const { type = 'auto', name } = choice ?? {};
  const isUsed = messages.some(({ content }) =>
    recordsOf(content).some((block) => block['type'] === 'tool_use' || block['type'] === 'tool_result'),
  );
  if (tools.length === 0 || (type === 'none' && !isUsed)) return undefined;
  const specified = withCachePoints(tools, (tool) => ({
    toolSpec: withoutUndefined({
      name: tool['name'],
      description: tool['description'] === '' ? undefined : tool['description'],
      inputSchema: { json: tool['input_schema'] },
    }),
  }));
  const toolChoice = type === 'tool' ? { tool: { name } } : type === 'any' ? { any: {} } : undefined;
  return withoutUndefined({ tools: specified, toolChoice });
}

/** @see https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html */
function outputConfig(format: Block | undefined): Block | undefined {
  if (format === undefined) return undefined;
  const jsonSchema = { name: 'answer', schema: JSON.stringify(format['schema']) };
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
}
