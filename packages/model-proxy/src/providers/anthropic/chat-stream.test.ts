import { describe, expect, it } from '@jest/globals';
import type { DialectEvents } from '../dialect.js';
import { ChatStream } from './chat-stream.js';
import { documentedStreams, eventsText } from '../../../test/providers/anthropic-samples.js';

interface Delta {
  readonly role?: string;
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly thinking_blocks?: readonly object[];
  readonly tool_calls?: readonly { readonly index: number; readonly function: { readonly arguments: string } }[];
}
interface Chunk {
  readonly choices: readonly { readonly delta: Delta; readonly finish_reason: string | null }[];
  readonly usage?: object;
}

/** Reads a stream that arrives in pieces. */
function read(pieces: readonly Buffer[]): { readonly chunks: readonly Chunk[]; readonly end: DialectEvents } {
  const stream = new ChatStream('claude');
  const results = [...pieces.map((piece) => stream.push(piece)), stream.finish()];
  const done = results.find(({ isDone, error }) => isDone || error !== undefined);
  // The chunks have the shape of OpenAI.
  const chunks = results.flatMap(({ events }) => events) as Chunk[];
  return { chunks, end: done ?? { events: [], isDone: false } };
}

const whole = (text: string) => read([Buffer.from(text)]);
const textIn = (chunks: readonly Chunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
const withoutTime = (chunks: readonly Chunk[]) => chunks.map((chunk) => ({ ...chunk, created: 0 }));
const argumentsIn = (chunks: readonly Chunk[], position: number) =>
  chunks
    .flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    .filter(({ index }) => index === position)
    .map((call) => call.function.arguments)
    .join('');

const start = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 3, output_tokens: 1 } } };
const stop = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const said = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });

describe("a stream of Anthropic's API", () => {
  it.each(Object.entries(documentedStreams))('gives the same chunks with a cut at any byte: %s', (_name, text) => {
    const bytes = Buffer.from(text);
    const expected = withoutTime(whole(text).chunks);
    expect(expected.length).toBeGreaterThan(2);
    const expectedText = JSON.stringify([expected, true]);
    const differing = [...bytes.keys()].filter((cut) => {
      const { chunks, end } = read([bytes.subarray(0, cut), bytes.subarray(cut)]);
      return JSON.stringify([withoutTime(chunks), end.isDone]) !== expectedText;
    });
    expect(differing).toEqual([]);
    const single = read([...bytes].map((byte) => Buffer.from([byte])));
    expect(withoutTime(single.chunks)).toEqual(expected);
  });

  it('gives chunks with the text, the role once, the finish_reason and the usage', () => {
    const { chunks } = whole(documentedStreams.text);
    expect(withoutTime(chunks)).toEqual([
      piece({ role: 'assistant', content: 'Hello' }),
      piece({ content: '! 雪' }),
      {
        ...frame,
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        usage: {
          prompt_tokens: 25,
          completion_tokens: 15,
          total_tokens: 40,
          prompt_tokens_details: { cached_tokens: 0 },
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
        },
      },
    ]);
  });

  it('gives chunks with tool calls, their positions and their arguments', () => {
    const { chunks } = whole(documentedStreams.tools);
    expect(textIn(chunks)).toBe('Okay, let me check.');
    expect(JSON.parse(argumentsIn(chunks, 0))).toEqual({ location: 'San Francisco, CA', unit: 'fahrenheit' });
    expect(argumentsIn(chunks, 1)).toBe('{}');
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 472, prompt_tokens_details: { cached_tokens: 400 }, completion_tokens: 89 },
    });
  });

  it('gives chunks with the thinking as reasoning_content and as thinking_blocks with a signature', () => {
    const { chunks } = whole(documentedStreams.thinking);
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta ?? []);
    expect(deltas.map((delta) => delta.reasoning_content ?? '').join('')).toBe('Let me solve this: 27 * 453');
    expect(deltas.flatMap((delta) => delta.thinking_blocks ?? [])).toEqual([
      { type: 'thinking', thinking: 'Let me solve this: ' },
      { type: 'thinking', thinking: '27 * 453' },
      { type: 'thinking', thinking: '', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl' },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' },
    ]);
    expect(textIn(chunks)).toBe('27 * 453 = 12,231');
  });

  it('may contain unknown events, blocks and deltas', () => {
    const { chunks, end } = whole(
      eventsText([
        start,
        { type: 'ping' },
        { type: 'weather', sun: true },
        { type: 'content_block_start', index: 0, content_block: { type: 'hologram', light: 1 } },
        { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta', light: 2 } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"q":1}' } },
        { type: 'content_block_stop', index: 0 },
        said('hi'),
        { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: {} } },
        ...stop,
      ]),
    );
    expect(end.isDone).toBe(true);
    expect(chunks).toHaveLength(2);
    expect(textIn(chunks)).toBe('hi');
  });

  it('gives chunks whose text is the input of the tool json_tool_call', () => {
    const { chunks } = whole(
      eventsText([
        start,
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 't', name: 'json_tool_call', input: {} },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '1}' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
        { type: 'message_stop' },
      ]),
    );
    expect(textIn(chunks)).toBe('{"a":1}');
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
  });

  it.each([
    ['overloaded_error', 529],
    ['rate_limit_error', 429],
    ['invalid_request_error', 400],
    ['a new type', 500],
  ])('ends with an error of type %s, which means the status %i', (type, status) => {
    const { end } = whole(eventsText([start, { type: 'error', error: { type, message: 'Overloaded' } }]));
    expect(end).toEqual({ events: [], isDone: false, error: { message: 'Overloaded', type, status } });
  });

  it('is incomplete without its last event', () => {
    expect(whole(eventsText([start, said('hi'), ...stop.slice(0, 1)])).end.isDone).toBe(false);
  });

  it.each([
    ['no JSON', 'data: hello\n\n'],
    ['half of a JSON object', 'data: {"type":\n\n'],
    ['null', 'data: null\n\n'],
    ['a list', 'data: []\n\n'],
    ['an object without a type', 'data: {}\n\n'],
    ['a type that is a number', 'data: {"type":1}\n\n'],
    ['a start without a message', 'data: {"type":"message_start"}\n\n'],
    ['negative tokens', 'data: {"type":"message_start","message":{"id":"x","usage":{"input_tokens":-1}}}\n\n'],
    ['a block without an index', 'data: {"type":"content_block_start","content_block":{"type":"text","text":""}}\n\n'],
    ['a text that is a number', eventsText([{ ...said(''), delta: { type: 'text_delta', text: 7 } }])],
    ['a tool without a name', eventsText([toolStart(0, { name: undefined })])],
    ['an error without a message', 'data: {"type":"error"}\n\n'],
    ['1001 open tool calls', eventsText(Array.from({ length: 1001 }, (_, index) => toolStart(index)))],
  ])('fails if it has %s', (_what, text) => {
    expect(() => whole(text)).toThrow();
  });
});

function toolStart(index: number, more: object = {}): object {
  return { type: 'content_block_start', index, content_block: { type: 'tool_use', id: 't', name: 'n', ...more } };
}

const frame = {
  id: 'msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'claude',
};
const piece = (delta: Delta) => ({ ...frame, choices: [{ index: 0, delta, finish_reason: null }] });
