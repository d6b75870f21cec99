/**
 * Translates requests for chat to Anthropic's Messages API.
 * @see https://platform.claude.com/docs/en/api/messages
 * @see https://docs.litellm.ai/docs/providers/anthropic
 */
import { invalidParameter } from '../../errors/model.js';
import type { DialectCall } from '../dialect.js';
import { checkedParameters } from '../parameters.js';
import { memberValue, type RequestMembers } from '../request-members.js';
import type { Block } from './content.js';
import { conversationOf } from './messages.js';
import { thinkingOf } from './thinking.js';
import { jsonTool, toolChoiceOf, toolsOf } from './tools.js';
import { recordOf, textOf } from './values.js';

/** Anthropic requires `max_tokens`. LiteLLM has the same default. */
const DEFAULT_MAX_TOKENS = 4096;

/** Members that `anthropicRequest` sets itself, even if OpenAI has no member with that name. */
const translated: ReadonlySet<string> = new Set(['model', 'messages', 'system', 'output_config', 'stop_sequences']);

/** Checked parameters that have the same name and meaning at Anthropic. */
const unchanged: ReadonlySet<string> = new Set(['temperature', 'top_p', 'thinking']);

/**
 * Translates a request. Members that OpenAI does not have, such as `top_k`, stay unchanged. Parameters of OpenAI
 * without a counterpart are omitted.
 * @throws {ProxyError} 400: Anthropic's API cannot express the request.
 */
export function anthropicRequest(members: RequestMembers, { model, streams }: DialectCall): Map<string, Buffer> {
  const value = (name: string): unknown => memberValue(members, name);
  const { system, messages } = conversationOf(value('messages'));
  const { thinking, effort } = thinkingOf(
    value('thinking') === undefined ? value('reasoning_effort') : undefined,
    model,
  );
  const body = new Map<string, Buffer>();
  const set = (name: string, member: unknown): void => void body.set(name, Buffer.from(JSON.stringify(member)));
  set('model', model);
  set('messages', messages);
  const format = responseFormat(value('response_format'));
  const ownSystem = value('system');
  if (system.length > 0) set('system', system);
  else if (ownSystem !== undefined) set('system', ownSystem);
  body.set('max_tokens', maxTokensOf(members, recordOf(value('thinking')) ?? thinking));
  if (streams) set('stream', true);
  const stop = value('stop') ?? value('stop_sequences');
  if (stop !== undefined) set('stop_sequences', Array.isArray(stop) ? stop : [stop]);
  if (thinking !== undefined) set('thinking', thinking);
  const outputConfig = {
    ...recordOf(value('output_config')),
    ...(effort === undefined ? {} : { effort }),
    ...format.config,
  };
  if (Object.keys(outputConfig).length > 0) set('output_config', outputConfig);
  const own = toolsOf(value('tools'));
  const tools = format.needsTool ? [...own, jsonTool] : own;
  if (tools.length > 0) {
    set('tools', tools);
    const isOnly = own.length === 0 && thinking === undefined && value('thinking') === undefined;
    const choice =
      format.needsTool && isOnly
        ? { type: 'tool', name: jsonTool['name'] }
        : toolChoiceOf(value('tool_choice'), value('parallel_tool_calls'));
    if (choice !== undefined) set('tool_choice', choice);
  }
  const user = textOf(value('user'));
  if (user !== undefined && isUserId(user)) set('metadata', { user_id: user });
  for (const name of members.names) {
    const bytes = members.bytes(name);
    if (bytes === undefined || translated.has(name) || body.has(name)) continue;
    if (unchanged.has(name) || !checkedParameters('chat/completions').has(name)) body.set(name, bytes);
  }
  return body;
}

/** Returns `max_tokens`. The default must leave room for an answer after the thinking. */
function maxTokensOf(members: RequestMembers, thinking: Block | undefined): Buffer {
  const given = members.bytes('max_completion_tokens') ?? members.bytes('max_tokens');
  if (given !== undefined) return given;
  const budget = thinking?.['budget_tokens'];
  return Buffer.from(String(DEFAULT_MAX_TOKENS + (typeof budget === 'number' ? budget : 0)));
}

interface ResponseFormat {
  /** Members of `output_config`. */
  readonly config: Block;
  readonly needsTool: boolean;
}

/**
 * Translates `response_format`. A JSON object without a schema needs {@link jsonTool}.
 * @throws {ProxyError} 400: the format is unknown, or has the type `json_schema` without a schema.
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */
function responseFormat(format: unknown): ResponseFormat {
  if (format === undefined) return { config: {}, needsTool: false };
  const { type, json_schema: described } = recordOf(format) ?? {};
  if (type === 'text') return { config: {}, needsTool: false };
  if (type === 'json_object') return { config: {}, needsTool: true };
  const schema = recordOf(recordOf(described)?.['schema']);
  if (type !== 'json_schema' || schema === undefined)
    throw invalidParameter('response_format', 'must have the type text, json_object, or json_schema with a schema');
  return { config: { format: { type, schema } }, needsTool: false };
}

/** Returns whether a text can be a `user_id`: Anthropic rejects mail addresses and telephone numbers. */
function isUserId(user: string): boolean {
  return !/^[\w.%+-]+@[\w.-]+$/.test(user) && !/^\+?[\d\s()-]{7,}$/.test(user);
}
