/** Tests the queue of a full proxy, if the clients have virtual keys. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { json } from '../support/app.js';
import { serveKeys, type KeyedApp } from './fixture.js';

describe('the queue of a full proxy', () => {
  let keyed: KeyedApp;
  /** Answers of requests that run. */
  const running: ServerResponse[] = [];
  beforeEach(async () => {
    const overload = { maxInFlight: 1, maxParallel: null, maxQueued: 1, queueMs: 3_600_000 };
    keyed = await serveKeys({ settings: { overload } });
    keyed.answering = (_request, response) => void running.push(response);
  });
  afterEach(() => keyed.close());
  const isRunning = (count: number) =>
    waitFor(
      () => (running.length === count ? true : undefined),
      () => `${running.length} requests run`,
    );

  it.each([
    [403, { key_type: 'read_only' }],
    [429, { max_budget: 0 }],
    [429, { rpm_limit: 0 }],
  ])('is not filled by requests that get %d, because of %j', async (status, settings) => {
    running.length = 0;
    const key = await keyed.create();
    const refused = await keyed.create(settings);
    const first = keyed.chat(key);
    await isRunning(1);
    expect((await keyed.chat(refused)).status).toBe(status);
    const waiting = keyed.chat(key);
    expect((await keyed.chat(refused)).status).toBe(status);
    keyed.answering = json({ id: 'x' });
    running[0]?.end('{}');
    expect([(await first).status, (await waiting).status]).toEqual([200, 200]);
  });

  it('answers 429 to waiting requests whose key has spent its budget meanwhile', async () => {
    running.length = 0;
    await keyed.close();
    keyed = await serveKeys({
      deployment: { modelInfo: { input_cost_per_token: 1 } },
      settings: { overload: { maxInFlight: 1, maxParallel: null, maxQueued: 10, queueMs: 3_600_000 } },
    });
    keyed.answering = (_request, response) => void running.push(response);
    const key = await keyed.create({ max_budget: 1 });
    const first = keyed.chat(key);
    await isRunning(1);
    const waiting = [keyed.chat(key), keyed.chat(key)];
    await waitFor(
      async () =>
        (await keyed.manage('GET', '/metrics')).text.includes('rackless_queued_requests 2') ? true : undefined,
      () => 'the requests do not wait',
    );
    keyed.answering = json({ id: 'x' });
    running[0]
      ?.setHeader('content-type', 'application/json')
      .end(JSON.stringify({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }));
    const answers = await Promise.all([first, ...waiting]);
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 429]);
  });
});
