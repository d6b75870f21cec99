/**
 * Streams and answers with the events and members that Anthropic documents.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 * @see https://platform.claude.com/docs/en/api/messages
 */

/** Writes events as Anthropic's server does: with their type as the name. */
export function eventsText(events: readonly object[]): string {
  return events
    .map((event) => {
      const name = 'type' in event && typeof event.type === 'string' ? `event: ${event.type}\n` : '';
      return `${name}data: ${JSON.stringify(event)}\n\n`;
    })
    .join('');
}

const started = (usage: object) => ({
  type: 'message_start',
  message: {
    id: 'msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude-opus-4-6',
    stop_reason: null,
    stop_sequence: null,
    usage,
  },
});
const block = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
const delta = (index: number, changed: object) => ({ type: 'content_block_delta', index, delta: changed });
const ended = (index: number) => ({ type: 'content_block_stop', index });
const input = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json });
const stopped = (stop_reason: string, usage: object) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
];

/** Complete streams by their content. */
export const documentedStreams = {
  text: eventsText([
    started({ input_tokens: 25, output_tokens: 1 }),
    block(0, { type: 'text', text: '' }),
    { type: 'ping' },
    delta(0, { type: 'text_delta', text: 'Hello' }),
    delta(0, { type: 'text_delta', text: '! 雪' }),
    ended(0),
    ...stopped('end_turn', { output_tokens: 15 }),
  ]),
  tools: eventsText([
    started({ input_tokens: 72, cache_read_input_tokens: 400, cache_creation_input_tokens: 0, output_tokens: 2 }),
    block(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'Okay, let me check.' }),
    ended(0),
    block(1, { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'get_weather', input: {} }),
    input(1, ''),
    input(1, '{"location":'),
    input(1, ' "San Francisco, CA"'),
    input(1, ', "unit": "fahrenheit"}'),
    ended(1),
    block(2, { type: 'tool_use', id: 'toolu_02', name: 'get_time', input: {} }),
    ended(2),
    ...stopped('tool_use', { output_tokens: 89 }),
  ]),
  thinking: eventsText([
    started({ input_tokens: 10, output_tokens: 1 }),
    block(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Let me solve this: ' }),
    delta(0, { type: 'thinking_delta', thinking: '27 * 453' }),
    delta(0, { type: 'signature_delta', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl' }),
    ended(0),
    block(1, { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }),
    ended(1),
    block(2, { type: 'text', text: '' }),
    delta(2, { type: 'text_delta', text: '27 * 453 = 12,231' }),
    ended(2),
    ...stopped('end_turn', { output_tokens: 60 }),
  ]),
};

/** Makes a complete message. */
export const message = (content: readonly object[], more: object = {}) => ({
  id: 'msg_013Zva2CMHLNnXjNJJKqJ2EF',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-4-6',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 2095, cache_creation_input_tokens: 2, cache_read_input_tokens: 3, output_tokens: 503 },
  ...more,
});

/** Makes an error. @see https://platform.claude.com/docs/en/api/errors */
export const failure = (type: string, text: string) => ({
  type: 'error',
  error: { type, message: text },
  request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
});
