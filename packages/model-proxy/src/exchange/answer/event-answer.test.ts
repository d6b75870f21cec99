import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { call, open } from '../../../test/harness/call.js';
import { waitFor } from '../../../test/harness/wait.js';
import { json, serveApp, type UpstreamRequest, type ServedApp } from '../../../test/support/app.js';

/** The key of the deployment. */
const KEY = 'sk-upstream-0123456789';
let served: ServedApp;
beforeAll(async () => {
  served = await serveApp();
});
afterAll(() => served.close());

const body = { model: 'public', messages: [], stream: true };
const ask = () => call(`${served.url}/v1/chat/completions`, { body });
const begin = () => open(`${served.url}/v1/chat/completions`, { body });

/** Waits for the next request at the upstream, and leaves the answer to the test. */
function upstreamSide(): Promise<{ readonly asked: UpstreamRequest; readonly response: ServerResponse }> {
  return new Promise((resolve) => {
    served.answering = (asked, response) => resolve({ asked, response });
  });
}
const events = { 'content-type': 'text/event-stream; charset=utf-8' };
/** Answers with the given chunks, and ends the body properly. */
const stream = (...pieces: readonly string[]) => {
  served.answering = (_asked, response) => {
    response.writeHead(200, events);
    for (const piece of pieces) response.write(piece);
    response.end();
  };
};
const chatEvent = (content: string, rest = '') =>
  `data: {"id":"c","model":"served/model","choices":[{"delta":{"content":"${content}"},"finish_reason":null}]${rest}}\n\n`;
const last = 'data: {"model":"served/model","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const renamed = (text: string) => text.replaceAll('"served/model"', '"hosted_vllm/served/model"');

describe('a stream', () => {
  it("has all bytes of the upstream, except for the model's name", async () => {
    const text = `: OPENROUTER PROCESSING\n\nevent: x\nid: 7\n${chatEvent('é', ',"unknown":{"a":[1, 2]}')}${last}data: [DONE]\n\n`;
    stream(text);
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([200, renamed(text)]);
    expect([
      answer.headers['content-type'],
      answer.headers['cache-control'],
      answer.headers['x-accel-buffering'],
      answer.headers['x-litellm-model-id'],
      answer.headers['content-length'],
    ]).toEqual(['text/event-stream; charset=utf-8', 'no-cache', 'no', 'deployment-1', undefined]);
  });

  it.each([
    ['the end', 'data: [DONE]\n\n'],
    ['the end without its empty line', 'data: [DONE]'],
    ["Anthropic's end", 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
    ['comments and the end', ': wait\n\n', 'data: [DONE]\n\n'],
    ['nothing', ''],
  ])('becomes an error with an error status if it consists only of %s', async (_what, ...texts) => {
    stream(...texts);
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([
      500,
      expect.stringContaining('the stream ended before the answer had finished'),
    ]);
  });

  it('does not contain the key of the deployment in its error events', async () => {
    const error = (key: string) => `event: error\ndata: {"type":"error","error":{"message":"wrong: ${key}"}}\n\n`;
    stream(chatEvent('1'), error(KEY));
    expect((await ask()).text).toBe(renamed(chatEvent('1')) + error('****'));
  });

  it('reaches the client event by event', async () => {
    const side = upstreamSide();
    const opening = begin();
    const { response } = await side;
    response.writeHead(200, events);
    response.write(chatEvent('1'));
    const answer = await opening;
    await waitFor(
      () => (answer.text === renamed(chatEvent('1')) ? true : undefined),
      () => `the first event did not come alone: ${answer.text}`,
    );
    response.end(`${last}data: [DONE]\n\n`);
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toBe(renamed(`${chatEvent('1')}${last}data: [DONE]\n\n`));
  });

  const WORDS = ['é', 'b', '漢', 'd'];
  /**
   * Sends requests for streams in one write. The upstream sends each event after the client has
   * received the event before.
   * @returns all bytes that arrive, as text.
   */
  const streamsOf = async (version: string, count: number): Promise<string> => {
    const responses: ServerResponse[] = [];
    served.answering = (_asked, response) => {
      response.writeHead(200, events);
      responses.push(response);
    };
    const text = JSON.stringify(body);
    const socket = connect(served.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (received += piece));
    const head = `POST /v1/chat/completions ${version}\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}`;
    socket.write(`${head}\r\n\r\n${text}`.repeat(count));
    const came = (what: string, times: number) =>
      waitFor(
        () => (received.split(what).length > times ? true : undefined),
        () => `${what} did not come: ${received}`,
      );
    for (let turn = 0; turn < count; turn += 1) {
      const response = await waitFor(
        () => responses[turn],
        () => `${responses.length} of ${count} requests came to the upstream`,
      );
      for (const word of WORDS) {
        response.write(chatEvent(word));
        await came(`"content":"${word}"`, turn + 1);
      }
      // The next request of the connection waits until this answer has ended.
      expect(responses).toHaveLength(turn + 1);
      response.end(`${last}data: [DONE]\n\n`);
    }
    if (version === 'HTTP/1.0') await once(socket, 'close');
    else await came(`${renamed(last)}data: [DONE]\n\n\r\n0\r\n\r\n`, count);
    socket.destroy();
    return received;
  };
  const content = WORDS.map((word) => renamed(chatEvent(word))).join('');
  const end = `${renamed(last)}data: [DONE]\n\n`;

  it('has no chunk sizes for a client of HTTP/1.0', async () => {
    const received = await streamsOf('HTTP/1.0', 1);
    expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe(content + end);
  });

  it('waits for the previous answer of its connection, and arrives complete', async () => {
    const received = await streamsOf('HTTP/1.1', 2);
    const [, first = '', second = ''] = received.split(/HTTP\/1\.1 200 OK\r\n/);
    const unframed = (answer: string) => {
      let rest = Buffer.from(answer.slice(answer.indexOf('\r\n\r\n') + 4));
      let text = '';
      for (;;) {
        const at = rest.indexOf('\r\n');
        const length = Number.parseInt(rest.toString('latin1', 0, at), 16);
        if (!(length > 0)) return text;
        text += rest.toString('utf8', at + 2, at + 2 + length);
        expect(rest.toString('latin1', at + 2 + length, at + 4 + length)).toBe('\r\n');
        rest = rest.subarray(at + 4 + length);
      }
    };
    expect(unframed(first)).toBe(content + end);
    expect(unframed(second)).toBe(content + end);
  });

  it('has no head before its first byte, so that an early failure is JSON with an error status', async () => {
    served.answering = (_asked, response) => {
      response.writeHead(200, events);
      response.flushHeaders();
      // The upstream closes the connection after the head, before the first byte of the body.
      setImmediate(() => response.destroy());
    };
    const answer = await ask();
    expect([answer.status, answer.headers['content-type']]).toEqual([500, 'application/json']);
    expect(answer.json()).toEqual({ error: expect.objectContaining({ code: '500', param: null }) as unknown });
  });

  it.each([
    ['{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}', 400],
    ['{"error":{"message":"slow down","type":"x","param":null,"code":"429"}}', 429],
    ['{"error":{"message":"odd","code":"server_error"}}', 500],
    ['{"object":"error","message":"too long","type":"BadRequestError","code":400}', 400],
    ['{"error":"just a text"}', 500],
  ])('becomes an error if it begins with %s, with status %d', async (data, status) => {
    stream(`data: ${data}\n\n`, 'data: [DONE]\n\n');
    const answer = await ask();
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/json']);
    expect(Object.keys(answer.json() as object)).toEqual(['error']);
  });

  it.each<[string, readonly string[]]>([
    ['in the same chunk', [': OPENROUTER PROCESSING\n\n: again\ndata: {"error":{"message":"busy","code":429}}\n\n']],
    ['in chunks of their own', [': 1\n\n', ': 2\n\n', 'data: {"error":{"message":"busy","code":429}}\n\n']],
  ])('becomes an error if an error follows comments %s', async (_where, pieces) => {
    stream(...pieces);
    const answer = await ask();
    expect([answer.status, answer.headers['content-type']]).toEqual([429, 'application/json']);
  });

  it.each([
    '{"model":"served/model","choices":[{"delta":{"content":"\\"error\\""},"finish_reason":"stop"}]}',
    '{"error":null,"model":"served/model","choices":[{"delta":{},"finish_reason":"stop"}]}',
  ])('does not become an error if it begins with %s', async (data) => {
    stream(`data: ${data}\n\n`);
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([200, renamed(`data: ${data}\n\n`)]);
  });

  it('ends with an error event if it breaks off, and contains no incomplete event before it', async () => {
    served.answering = (_asked, response) => {
      response.writeHead(200, events);
      response.write(chatEvent('1'));
      response.write('data: {"model":"served', () => response.destroy());
    };
    const { status, text } = await ask();
    expect([status, text.startsWith(renamed(chatEvent('1')))]).toEqual([200, true]);
    const rest = text.slice(renamed(chatEvent('1')).length);
    expect(JSON.parse(/^data: (.*)\n\n$/.exec(rest)?.[1] ?? '')).toEqual({
      error: {
        message: expect.stringContaining('litellm.') as unknown,
        type: 'internal_server_error',
        param: null,
        code: '500',
      },
    });
  });

  it('has no error event if it breaks off after [DONE]: the answer is complete', async () => {
    served.answering = (_asked, response) => {
      response.writeHead(200, events);
      response.write(`${last}data: [DONE]\n\n`, () => response.destroy());
    };
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([200, renamed(`${last}data: [DONE]\n\n`)]);
  });

  it('ends with an error event if the upstream ends it properly, but too early', async () => {
    stream(chatEvent('1'));
    const { text } = await ask();
    expect(text).toMatch(/^data: .*\n\ndata: \{"error":\{.*ended before the answer had finished.*\n\n$/);
  });

  it('without a byte is an error with an error status, not an empty answer', async () => {
    stream();
    const answer = await ask();
    expect([answer.status, answer.headers['content-type']]).toEqual([500, 'application/json']);
    expect(answer.text).toContain('the stream ended before the answer had finished');
  });

  it('has the usage of its last events in the metrics', async () => {
    stream(
      chatEvent('1'),
      last,
      `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n`,
      'data: [DONE]\n\n',
    );
    await ask();
    const { text } = await call(`${served.url}/metrics`, { method: 'GET' });
    expect(text).toMatch(/^litellm_output_tokens_metric_total\{.*\} 4$/m);
    expect(text).toMatch(/^litellm_llm_api_time_to_first_token_metric_count\{.*\} \d+$/m);
  });

  it('can answer a request for JSON, as JSON can answer a request for a stream', async () => {
    served.answering = json({ model: 'served/model' });
    expect((await ask()).text).toBe('{"model":"hosted_vllm/served/model"}');
    stream(last);
    const plain = await call(`${served.url}/v1/chat/completions`, { body: { ...body, stream: false } });
    expect(plain.text).toBe(renamed(last));
  });
});

describe('a client that closes its connection', () => {
  it('before the first token aborts the upstream request', async () => {
    const side = upstreamSide();
    const socket = connect(served.port, '127.0.0.1');
    const text = JSON.stringify(body);
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    const { asked } = await side;
    const aborted = once(asked.request.socket, 'close');
    served.lines();
    socket.destroy();
    // Only the client's close can end the request: there is no timeout. test/faults measures the
    // time.
    await aborted;
    const [line] = await waitFor(
      () => {
        const lines = served.lines();
        return lines.length > 0 ? lines : undefined;
      },
      () => 'no line in the log',
    );
    expect(line).toMatchObject({ status: 499, gone: true, model: 'public', deployment: 'deployment-1' });
  });

  it('in the middle of a stream aborts the upstream request', async () => {
    const side = upstreamSide();
    const opening = begin();
    const { asked, response } = await side;
    response.writeHead(200, events);
    response.write(chatEvent('1'));
    const answer = await opening;
    const aborted = once(asked.request.socket, 'close');
    answer.leave();
    await aborted;
    expect(response.writableFinished).toBe(false);
  });
});

describe('a client that does not read', () => {
  it('pauses its upstream, and gets the whole answer later', async () => {
    const side = upstreamSide();
    const socket = connect(served.port, '127.0.0.1');
    socket.pause();
    const text = JSON.stringify(body);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    const { response } = await side;
    response.writeHead(200, events);
    const event = chatEvent('x'.repeat(100_000));
    let sent = 0;
    // The upstream stops when its buffers are full. They never become full if the proxy reads everything.
    while (response.write(event) || sent < 3) {
      sent += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (sent > 1000) throw new Error('100 MB were taken for a client that reads nothing');
    }
    await waitFor(
      () => (response.writableNeedDrain ? true : undefined),
      () => 'the upstream never paused',
    );
    response.end(last);
    let received = 0;
    socket.on('data', (piece: Buffer) => (received += piece.length));
    socket.resume();
    await once(socket, 'end');
    expect(received).toBeGreaterThan((sent + 1) * event.length);
  });
});

describe('a stream with model_name_in_response: upstream', () => {
  let unchanged: ServedApp;
  beforeAll(async () => {
    unchanged = await serveApp({ settings: { modelNameInResponse: 'upstream' } });
  });
  afterAll(() => unchanged.close());
  const askUnchanged = (answering: ServedApp['answering']) => {
    unchanged.answering = answering;
    return call(`${unchanged.url}/v1/chat/completions`, { body });
  };

  it('is unchanged', async () => {
    const text = `: hi\r\n\r\n${chatEvent('1')}${last}data: [DONE]\n\n`;
    const answer = await askUnchanged((_asked, response) => {
      response.writeHead(200, events);
      response.end(text);
    });
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  it('ends with an error event if it breaks off, and contains no incomplete event before it', async () => {
    const { text } = await askUnchanged((_asked, response) => {
      response.writeHead(200, events);
      response.write(chatEvent('1'));
      response.write('data: {"model":"served', () => response.destroy());
    });
    expect(text.slice(0, chatEvent('1').length)).toBe(chatEvent('1'));
    expect(text.slice(chatEvent('1').length)).toMatch(/^data: \{"error":\{.*\}\}\n\n$/);
  });

  it('ends with an error event if it ends too early', async () => {
    const { text } = await askUnchanged((_asked, response) => {
      response.writeHead(200, events);
      response.end(chatEvent('1'));
    });
    expect(text).toMatch(/\n\ndata: \{"error":\{.*ended before the answer had finished.*\}\}\n\n$/);
  });
});
