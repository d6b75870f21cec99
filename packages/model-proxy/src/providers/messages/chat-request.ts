/**
 * Translates requests of Anthropic's Messages API into requests for chat.
 * @see https://platform.claude.com/docs/en/api/messages
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
import { invalidParameter } from '../../errors/model.js';
import type { Block } from '../anthropic/content.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { DialectCall } from '../dialect.js';
import { memberValue, type RequestMembers } from '../request-members.js';
import { chatMessages, type KeptThinking } from './chat-messages.js';
import { thinkingMembers, type ThinkingUpstream } from './thinking.js';

/** Maximum length of OpenAI's `user`. LiteLLM cuts longer texts in the same way. */
const MAX_USER_LENGTH = 64;

/** Members that do not stay unchanged: those that this file translates, and those that OpenAI's API does not have. */
const handled: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stop_sequences', 'stream', 'tools', 'tool_choice', 'metadata'],
  ...['thinking', 'output_config', 'output_format'],
  ...['cache_control', 'context_management', 'service_tier', 'inference_geo', 'speed'],
]);

/** Members that start work at Anthropic's servers. */
const impossible = ['container', 'mcp_servers'];

/** OpenAI's models that reject `max_tokens`. */
const needsCompletionTokens = /(?:^|\/)(?:o\d|gpt-[5-9])/;

/**
 * Translates a request. Members that are not in {@link handled} stay unchanged.
 * @param upstream what thinking it understands, and whether it needs Gemini's signatures.
 * @throws {ProxyError} 400: OpenAI's API cannot express the request.
 */
export function chatRequest(
  members: RequestMembers,
  { model, streams }: DialectCall,
  upstream: KeptThinking & Omit<ThinkingUpstream, 'model'>,
): Map<string, Buffer> {
  const value = (name: string): unknown => memberValue(members, name);
  for (const name of impossible)
    if (members.bytes(name) !== undefined) throw invalidParameter(name, "needs a model with Anthropic's API");
  const body = new Map<string, Buffer>();
  const set = (name: string, member: unknown): void => {
    if (member !== undefined) body.set(name, Buffer.from(JSON.stringify(member)));
  };
  set('model', model);
  set('messages', chatMessages(value('system'), value('messages'), upstream));
  const maxTokens = members.bytes('max_tokens');
  if (maxTokens !== undefined)
    body.set(needsCompletionTokens.test(model) ? 'max_completion_tokens' : 'max_tokens', maxTokens);
  if (streams) {
    set('stream', true);
    // Requests the usage, because the last events of Anthropic's streams contain it.
    set('stream_options', { include_usage: true });
  }
  const stop = value('stop_sequences');
  // OpenAI rejects an empty list.
  if (!Array.isArray(stop) || stop.length > 0) set('stop', stop);
  set('tools', toolsOf(value('tools')));
  const choice = recordOf(value('tool_choice'));
  set('tool_choice', choice === undefined ? undefined : toolChoiceOf(choice));
  if (choice?.['disable_parallel_tool_use'] === true) set('parallel_tool_calls', false);
  set('user', textOf(recordOf(value('metadata'))?.['user_id'])?.slice(0, MAX_USER_LENGTH));
  const output = recordOf(value('output_config'));
  set('response_format', responseFormatOf(output?.['format'] ?? value('output_format')));
  const thinking = thinkingMembers({ thinking: value('thinking'), effort: output?.['effort'] }, { ...upstream, model });
  for (const [name, member] of Object.entries(thinking)) set(name, member);
  for (const name of members.names) {
    const bytes = handled.has(name) ? undefined : members.bytes(name);
    if (bytes !== undefined) body.set(name, bytes);
  }
  return body;
}

function responseFormatOf(value: unknown): Block | undefined {
  const format = recordOf(value);
  if (format?.['type'] !== 'json_schema') return undefined;
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format['schema'], strict: true } };
}

/**
 * Translates the tools; undefined: there are none.
 * @throws {ProxyError} 400: a tool runs at Anthropic's servers, or has no name or no schema.
 */
function toolsOf(value: unknown): readonly Block[] | undefined {
  const tools = recordsOf(value);
  if (tools.length === 0) return undefined;
  return tools.map(({ type = 'custom', name, description, input_schema: parameters, strict }) => {
    if (type !== 'custom' || textOf(name) === undefined || recordOf(parameters) === undefined) {
      const what = type === 'custom' ? 'without name or input_schema' : `of type ${JSON.stringify(type)}`;
      throw invalidParameter('tools', `has a tool ${what}, which only models with Anthropic's API support`);
    }
    return {
      type: 'function',
      function: {
        name,
        ...(typeof description === 'string' ? { description } : {}),
        parameters,
        ...(typeof strict === 'boolean' ? { strict } : {}),
      },
    };
  });
}

const choices: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['any', 'required'],
  ['none', 'none'],
]);

function toolChoiceOf({ type, name }: Block): unknown {
  if (type === 'tool' && typeof name === 'string') return { type: 'function', function: { name } };
  const choice = choices.get(type);
  if (choice === undefined)
    throw invalidParameter('tool_choice', 'must have the type auto, any, none, or tool with a name');
  return choice;
}
