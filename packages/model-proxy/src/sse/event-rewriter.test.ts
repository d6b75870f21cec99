import { describe, expect, it } from '@jest/globals';
import { ProxyError } from '../errors/proxy-error.js';
import { createEventRewriter, renderErrorEvent, type EventRewriter } from './event-rewriter.js';

const PATHS = [['model'], ['response', 'model']];

/** Tries `pushLikely` first and then `push`, as the code that forwards answers does. */
function rewriter(model: (reported: string) => string = (name) => `hosted_vllm/${name}`): EventRewriter {
  const made = createEventRewriter({ modelPaths: PATHS, model });
  return {
    pushLikely: (piece) => made.pushLikely(piece),
    push: (piece) => {
      const likely = made.pushLikely(piece);
      return likely === undefined ? made.push(piece) : [Buffer.from(likely, 'latin1')];
    },
    finish: () => made.finish(),
    get isDone() {
      return made.isDone;
    },
    get interruption() {
      return made.interruption;
    },
    get hiddenUsage() {
      return made.hiddenUsage;
    },
    get eventCount() {
      return made.eventCount;
    },
  };
}

/** Returns the text that the client gets if the stream arrives in these chunks. */
function through(pieces: readonly string[], made = rewriter()): string {
  const out = pieces.flatMap((piece) => made.push(Buffer.from(piece)));
  return Buffer.concat([...out, ...made.finish()]).toString();
}

/** Returns one event with a chunk of a chat completion. */
function chatEvent(content: string, finish: string | null = null, model = 'gpt-oss-120b'): string {
  const choice = { index: 0, delta: { content }, logprobs: null, finish_reason: finish };
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [choice] })}\n\n`;
}

const renamed = (text: string) => text.replaceAll('"gpt-oss-120b"', '"hosted_vllm/gpt-oss-120b"');

const stream = [
  ': keep-alive\n\n',
  chatEvent('Hel'),
  chatEvent('lo "model":"gpt-oss-120b" \\ é 漢 \u{1f600}'),
  'event: note\nid: 7\nretry: 100\nunknown: x\nnonsense\ndata: {"model" : "gpt-oss-120b"}\n\n',
  'data:{"model":"gpt-oss-120b"}\n\n',
  'data: {"choices":[{"model":"gpt-oss-120b"}]}\n\n',
  'data: plain text\n\n',
  'data: {"a":1,\ndata:  "model":\ndata: "gpt-oss-120b"}\n\n',
  '\n\n\n',
  chatEvent('', 'stop'),
  'data: [DONE]\n\n',
];
/**
 * The expected text. The second "model" of the third event is text of the answer. The "model" of
 * the sixth event is not the answer's model.
 */
const expected = stream
  .map((event, at) => {
    if (at === 2)
      return event.replace('"model":"gpt-oss-120b","choices"', '"model":"hosted_vllm/gpt-oss-120b","choices"');
    return at === 5 ? event : renamed(event);
  })
  .join('');

describe('an event with two models', () => {
  it('has its last model renamed', () => {
    const event = (first: string, last: string) => `data: {"model":"${first}","choices":[],"model":"${last}"}\n\n`;
    const events = rewriter();
    for (let round = 0; round < 40; round += 1)
      expect(Buffer.concat(events.push(Buffer.from(event('m', 'm')))).toString()).toBe(event('m', 'hosted_vllm/m'));
  });
});

describe('a stream of events', () => {
  it('has the model renamed and all other bytes unchanged, also comments and unknown fields', () => {
    expect(through(stream)).toBe(expected);
    expect(expected).not.toBe(stream.join(''));
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('gives the same output if it is cut in two at any byte, or into single bytes (line end %s)', (_name, lineEnd) => {
    const bytes = Buffer.from(stream.join('').replaceAll('\n', lineEnd));
    const whole = expected.replaceAll('\n', lineEnd);
    for (let at = 0; at <= bytes.length; at += 1) {
      const made = rewriter();
      const out = [...made.push(bytes.subarray(0, at)), ...made.push(bytes.subarray(at)), ...made.finish()];
      expect(Buffer.concat(out).toString()).toBe(whole);
    }
    const made = rewriter();
    const single = [...bytes].flatMap((byte) => made.push(Buffer.from([byte])));
    expect(Buffer.concat([...single, ...made.finish()]).toString()).toBe(whole);
  });

  it('is forwarded event by event, each as soon as it is complete', () => {
    const made = rewriter();
    const event = chatEvent('a');
    expect(made.push(Buffer.from(event.slice(0, -1)))).toEqual([]);
    expect(Buffer.concat(made.push(Buffer.from('\n'))).toString()).toBe(renamed(event));
    expect(made.push(Buffer.from(': half a comm'))).toEqual([]);
    expect(Buffer.concat(made.push(Buffer.from('ent\n\n'))).toString()).toBe(': half a comment\n\n');
  });

  it('is forwarded in the buffers in which it arrived if nothing changes', () => {
    const made = rewriter((name) => name);
    for (const text of [chatEvent('a'), chatEvent('b') + chatEvent('c'), ': comment\n\n', 'data: [DONE]\n\n']) {
      const piece = Buffer.from(text);
      const out = made.push(piece);
      expect(out).toHaveLength(1);
      expect(out[0]).toBe(piece);
    }
  });

  it('is forwarded in one buffer for each chunk, also if the chunk has several events', () => {
    const made = rewriter();
    const out = made.push(Buffer.from(chatEvent('a') + chatEvent('b') + chatEvent('c')));
    expect(out.map(String)).toEqual([renamed(chatEvent('a') + chatEvent('b') + chatEvent('c'))]);
  });

  it('has the model of each event renamed separately, even if the events begin with the same text', () => {
    const events = [
      chatEvent('a'),
      chatEvent('b', null, 'gpt-oss-20b'),
      chatEvent('c', null, 'gpt-oss-120b'),
      chatEvent('d'),
    ];
    expect(through(events)).toBe(events.map((event) => event.replace('"gpt', '"hosted_vllm/gpt')).join(''));
  });

  it('has the nested model of the responses API renamed, and no other values', () => {
    const event = 'event: response.created\ndata: {"type":"response.created","response":{"id":"r","model":"m"}}\n\n';
    expect(through([event])).toBe(event.replace('"m"', '"hosted_vllm/m"'));
    const others = 'data: {"model":null}\n\ndata: {"model":5}\n\ndata: {"model":{"model":"m"}}\n\n';
    expect(through([others])).toBe(others);
  });

  it('is forwarded unchanged where its data is not JSON', () => {
    const garbage = 'data: {"model":"a\n\ndata: {]"model"\n\ndata: \u0000{{{{\n\ndata\n\n:\n\ndata:\n\n';
    expect(through([garbage])).toBe(garbage);
  });

  it('has the escapes in the old name decoded, and the new name escaped', () => {
    expect(
      through(
        ['data: {"model":"a\\"\\u0062"}\n\n'],
        rewriter((name) => `x/${name}\n`),
      ),
    ).toBe('data: {"model":"x/a\\"b\\n"}\n\n');
  });

  it('has an event above 16 MB unchanged, and the next events rewritten', () => {
    const made = rewriter();
    const big = Buffer.from(`data: {"model":"gpt-oss-120b","image":"${'x'.repeat(17 * 1024 * 1024)}"}\n\n`);
    let read = 0;
    let out = 0;
    for (let at = 0; at < big.length; at += 65_536) {
      const piece = big.subarray(at, at + 65_536);
      read += piece.length;
      for (const passed of made.push(piece)) out += passed.length;
      expect(read - out).toBeLessThanOrEqual(16 * 1024 * 1024);
    }
    expect(out).toBe(big.length);
    expect(Buffer.concat(made.push(Buffer.from(chatEvent('a')))).toString()).toBe(renamed(chatEvent('a')));
    expect(made.finish()).toEqual([]);
  });

  it('is passed on in fewer than 2,000 buffers if it is one endless event in tiny chunks', () => {
    const made = rewriter();
    const piece = 'data: x'.repeat(12);
    let max = 0;
    let out = 0;
    for (let sent = 0; out === 0 && sent <= 17 * 1024 * 1024; sent += piece.length) {
      const passed = made.push(Buffer.from(piece));
      max = Math.max(max, passed.length);
      out += passed.length;
    }
    expect(out).toBeGreaterThan(0);
    expect(max).toBeLessThan(2000);
  });

  it('takes at most four times as long for an event of two million lines as for two million events', () => {
    // The test measures the CPU time of this process, which other processes on a busy host do not change.
    const cpuOf = (text: string): number => {
      const chunk = Buffer.from(text.repeat(1000));
      const start = process.cpuUsage();
      const rewriter = createEventRewriter({ modelPaths: [['model']], model: (name) => `${name}.` });
      for (let n = 0; n < 2000; n += 1) rewriter.push(chunk);
      rewriter.push(Buffer.from('\n'));
      const { user, system } = process.cpuUsage(start);
      return user + system;
    };
    const ratios: number[] = [];
    // The first run warms up, and does not count.
    for (let run = 0; run < 6; run += 1) ratios.push(cpuOf('data:\n') / cpuOf('data:\n\n'));
    const [, , median] = ratios.slice(1).toSorted((a, b) => a - b);
    expect(median).toBeLessThan(4);
  });

  it.each(['\n', '\r', '\r\n'])(
    'has all empty lines before its first event counted as one event, and those between events not counted (%j)',
    (line) => {
      const made = rewriter();
      const lines = line.repeat(100_000);
      const text = `${lines}${chatEvent('a')}${lines}${chatEvent('b')}`;
      expect(Buffer.concat([...made.push(Buffer.from(text)), ...made.finish()]).toString()).toBe(renamed(text));
      expect(made.eventCount).toBe(3);
    },
  );

  it('has the model renamed even in an event of several MB in many chunks', () => {
    const made = rewriter();
    const text = `data: {"image":"${'x\\"'.repeat(1024 * 1024)}","model":"gpt-oss-120b"}\n\n`;
    const big = Buffer.from(text);
    const out: Buffer[] = [];
    for (let at = 0; at < big.length; at += 65_536) out.push(...made.push(big.subarray(at, at + 65_536)));
    expect(Buffer.concat(out).equals(Buffer.from(renamed(text)))).toBe(true);
  });
});

describe('the end of a stream', () => {
  function endOf(...pieces: string[]) {
    const made = rewriter();
    const text = through(pieces, made);
    return { text, interruption: made.interruption };
  }

  it('is complete with [DONE], with or without its empty line', () => {
    for (const done of ['data: [DONE]\n\n', 'data: [DONE]\n', 'data: [DONE]', 'data:[DONE]\r\n\r\n']) {
      expect(endOf(chatEvent('a'), done)).toEqual({ text: renamed(chatEvent('a')) + done, interruption: null });
    }
  });

  it('is complete with a finish_reason, with or without usage after it', () => {
    for (const usage of ['', 'data: {"model":"gpt-oss-120b","choices":[],"usage":{"total_tokens":3}}\n\n'])
      expect(endOf(chatEvent('a'), chatEvent('', 'length'), usage)).toEqual({
        text: renamed(chatEvent('a') + chatEvent('', 'length') + usage),
        interruption: null,
      });
  });

  it('is complete, with the model renamed, if the last event lacks only the empty line after it', () => {
    const last = chatEvent('', 'stop').trimEnd();
    expect(endOf(last)).toEqual({ text: renamed(last), interruption: null });
  });

  it('is an interruption if an event is incomplete, and the client does not get this event', () => {
    const half = chatEvent('b').slice(0, 60);
    expect(endOf(chatEvent('a'), half)).toEqual({ text: renamed(chatEvent('a')), interruption: 'event' });
    expect(endOf(chatEvent('a'), 'data: [DO')).toEqual({ text: renamed(chatEvent('a')), interruption: 'event' });
  });

  it("is not complete if Anthropic's last event is incomplete", () => {
    for (const finishes of [false, true]) {
      const made = rewriter();
      made.push(Buffer.from('event: ping\ndata: {"type":"ping"}\n\nevent: message_stop\ndata: {"type":"message_stop"'));
      if (finishes) made.finish();
      expect(made.isDone).toBe(false);
    }
    const made = rewriter();
    made.push(Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n: pi'));
    expect(made.isDone).toBe(true);
  });

  it('is an interruption if the answer has no finish_reason', () => {
    expect(endOf(chatEvent('a'), chatEvent('b'))).toEqual({
      text: renamed(chatEvent('a') + chatEvent('b')),
      interruption: 'answer',
    });
  });

  it.each([1, 7, 40, 100])('is found in chunks of %i bytes', (size) => {
    const inPieces = (text: string) => endOf(...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [])).interruption;
    expect(inPieces(chatEvent('a') + chatEvent('b'))).toBe('answer');
    const usage = 'data: {"model":"gpt-oss-120b","choices":[],"usage":{"total_tokens":3}}\n\n';
    expect(inPieces(chatEvent('a') + chatEvent('', 'length') + usage)).toBe(null);
    expect(inPieces(`${chatEvent('a')}data: {"error":{"message":"out of memory","code":500}}\n\n`)).toBe('error');
    expect(inPieces('event: message_delta\ndata: {"type":"message_delta"}\n\n')).toBe('answer');
    const made = rewriter();
    const last = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
    for (let at = 0; at < last.length; at += size) made.push(Buffer.from(last.slice(at, at + size)));
    expect(made.isDone).toBe(true);
  });

  it('is an error of the upstream after an error event, with or without [DONE]', () => {
    const error = 'data: {"error":{"message":"out of memory","code":500}}\n\n';
    for (const end of ['', 'data: [DONE]\n\n'])
      expect(endOf(chatEvent('a'), error + end)).toEqual({
        text: renamed(chatEvent('a')) + error + end,
        interruption: 'error',
      });
  });

  it('needs no finish_reason in streams without choices', () => {
    const event = 'event: response.completed\ndata: {"type":"response.completed"}\n\n';
    expect(endOf(event)).toEqual({ text: event, interruption: null });
  });
});

describe('the event of an error', () => {
  it("has OpenAI's form in one line of data, with quotes and line ends escaped", () => {
    const error = new ProxyError({ status: 500, message: 'the "upstream"\nis gone', kind: 'connection' });
    expect(renderErrorEvent(error, 'openai', 'id').toString()).toBe(
      'data: {"error":{"message":"the \\"upstream\\"\\nis gone","type":"internal_server_error","param":null,"code":"500"}}\n\n',
    );
  });
});
