/** Tests comments at the beginning of a stream, which the proxy holds back for a time. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { open } from '../../../test/harness/call.js';
import { passTime, stopTime } from '../../../test/harness/stopped-time.js';
import { waitFor } from '../../../test/harness/wait.js';
import { serveApp, type ServedApp } from '../../../test/support/app.js';

const body = { model: 'public', messages: [], stream: true };
/** The longest wait for the first event, as documented. */
const MAX_HOLD_MS = 10_000;
const COMMENT = ': OPENROUTER PROCESSING\n\n';
const EVENT = 'data: {"model":"served/model","choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\n';
const END = 'data: {"model":"served/model","choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const renamed = (text: string) => text.replaceAll('"served/model"', '"hosted_vllm/served/model"');

describe('comments before the first event of a stream', () => {
  stopTime({ timers: 'all' });
  let served: ServedApp;
  beforeAll(async () => {
    served = await serveApp();
  });
  afterAll(() => served.close());
  let upstream: ServerResponse | undefined;
  afterEach(() => {
    upstream?.destroy();
  });

  /** Requests a stream whose upstream sends a comment. Returns the answer, which begins later. */
  const begin = async () => {
    const sent = new Promise<ServerResponse>((resolve) => {
      served.answering = (_asked, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(COMMENT, () => resolve(response));
      };
    });
    const opening = open(`${served.url}/v1/chat/completions`, { body });
    let hasBegun = false;
    void opening.then(() => (hasBegun = true));
    upstream = await sent;
    return { opening, response: upstream, hasBegun: () => hasBegun };
  };
  const came = (answer: { readonly text: string }, text: string) =>
    waitFor(
      () => (answer.text === text ? true : undefined),
      () => `the client has got ${JSON.stringify(answer.text)}`,
    );

  it('reach the client together with that event, unchanged', async () => {
    const { opening, response, hasBegun } = await begin();
    await passTime(MAX_HOLD_MS - 1000);
    expect(hasBegun()).toBe(false);
    response.write(EVENT);
    const answer = await opening;
    await came(answer, COMMENT + renamed(EVENT));
    response.end(END);
    await answer.ended;
    expect([answer.status, answer.text]).toEqual([200, COMMENT + renamed(EVENT + END)]);
  });

  it('reach the client after a time, so that load balancers do not close the connection', async () => {
    const { opening, response } = await begin();
    await passTime(MAX_HOLD_MS + 1000);
    const answer = await opening;
    await came(answer, COMMENT);
    response.write(COMMENT);
    await came(answer, COMMENT + COMMENT);
    response.end('data: [DONE]\n\n');
    await answer.ended;
    expect(answer.text.slice(2 * COMMENT.length)).toMatch(/^data: \{"error":.*the stream ended before the answer/);
    expect(answer.text).not.toContain('[DONE]');
  });

  it('reach the client at once if they have more than 64 KiB', async () => {
    const { opening, response } = await begin();
    const comments = Array.from({ length: 70 }, (_, at) => `: ${at} ${'x'.repeat(1000)}\n\n`);
    for (const comment of comments) response.write(comment);
    const answer = await opening;
    await came(answer, COMMENT + comments.join(''));
    response.end(EVENT + END);
    await answer.ended;
    // Compares the whole text, because the held comments must arrive once, and in their order.
    expect(answer.text).toBe(COMMENT + comments.join('') + renamed(EVENT + END));
  });
});
