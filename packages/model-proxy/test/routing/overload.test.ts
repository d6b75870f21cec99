/** Tests a proxy that gets more requests than it may run at the same time. */
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { messages, statuses, useSetups, type Blocks } from './fixture.js';

const limited = (maxInFlight: number, maxQueued: number, seconds = 3600): Blocks => ({
  general_settings: {
    max_in_flight_requests_per_worker: maxInFlight,
    max_queued_requests_per_worker: maxQueued,
    admission_queue_timeout_seconds: seconds,
  },
  router_settings: { num_retries: 0 },
});

describe('a full proxy', () => {
  const setUp = useSetups();

  it('serves all requests if its queue has room for them', async () => {
    const { askMany, upstreams } = await setUp([{}], limited(2, 100));
    expect(statuses(await askMany(300))).toEqual({ 200: 300 });
    expect(upstreams[0]?.count).toBe(300);
  });

  it('answers 503 with Retry-After if the queue is full, and to a request that has waited too long', async () => {
    const { ask, upstreams } = await setUp([{ behavior: 'hang', params: { timeout: 5 } }], limited(1, 1, 0.2));
    const first = ask();
    await waitFor(
      () => (upstreams[0]?.count === 1 ? true : undefined),
      () => 'the first request is not at the upstream',
    );
    const replies = await Promise.all([ask(), ask(), ask()]);
    expect(statuses(replies)).toEqual({ 503: 3 });
    for (const { headers, text } of replies) {
      expect(headers['retry-after']).toBe('1');
      expect(JSON.parse(text)).toMatchObject({
        error: {
          type: 'overloaded_error',
          message: expect.stringMatching(/^Worker at capacity: 1 in-flight, [01] queued/),
        },
      });
    }
    expect(upstreams[0]?.count).toBe(1);
    await first;
  });

  it('answers 429 at once above global_max_parallel_requests, and accepts more after the others end', async () => {
    const { ask, askMany, upstreams } = await setUp([{ behavior: 'hang', params: { timeout: 5 } }, { name: 'fast' }], {
      general_settings: { global_max_parallel_requests: 2 },
      router_settings: { num_retries: 0 },
    });
    const slow = [ask(), ask()];
    await waitFor(
      () => (upstreams[0]?.count === 2 ? true : undefined),
      () => 'the slow requests are not at the upstream',
    );
    const { status, headers, text } = await ask({ model: 'fast' });
    expect([status, headers['retry-after']]).toEqual([429, '1']);
    expect(JSON.parse(text)).toMatchObject({
      error: {
        type: 'rate_limit_error',
        message: 'Max parallel request limit reached Hit Global Limit: Limit=2, current: 2',
      },
    });
    await Promise.all(slow);
    expect(upstreams[1]?.count).toBe(0);
    expect((await ask({ model: 'fast' })).status).toBe(200);
    const replies = await askMany(50, { model: 'fast' });
    expect(replies.every((one) => one.status === 200 || one.status === 429)).toBe(true);
    expect(upstreams[1]?.count).toBe(1 + replies.filter((one) => one.status === 200).length);
  });

  it('removes the requests of disconnected clients from its queue', async () => {
    const { proxy, ask, upstreams } = await setUp([{ behavior: 'hang' }], limited(1, 3));
    const [upstream] = upstreams;
    const body = JSON.stringify({ model: 'chat', messages });
    const sockets: Socket[] = [];
    const send = () => {
      const socket = connect(proxy.port, '127.0.0.1');
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      sockets.push(socket);
    };
    send();
    await waitFor(
      () => (upstream?.count === 1 ? true : undefined),
      () => 'the first request is not at the upstream',
    );
    for (let round = 0; round < 3; round += 1) send();
    const inFlight = async () =>
      /^litellm_in_flight_requests (\d+)$/m.exec(await (await fetch(`${proxy.url}/metrics`)).text())?.[1];
    await waitFor(
      async () => ((await inFlight()) === '5' ? true : undefined),
      () => 'the queue is not full',
    );
    expect(await (await fetch(`${proxy.url}/metrics`)).text()).toContain('rackless_queued_requests 3\n');
    for (const socket of sockets.splice(1)) socket.destroy();
    await waitFor(
      async () => ((await inFlight()) === '2' ? true : undefined),
      () => 'the proxy does not notice that the clients have gone',
    );
    if (upstream !== undefined) upstream.behavior = 'works';
    const waiting = ask();
    sockets[0]?.destroy();
    expect((await waiting).status).toBe(200);
    expect(upstream?.count).toBe(2);
  });

  it('still answers requests for health, models and metrics', async () => {
    const { proxy, upstreams, ask } = await setUp([{ behavior: 'hang', params: { timeout: 1 } }], limited(1, 0));
    const first = ask();
    await waitFor(
      () => (upstreams[0]?.count === 1 ? true : undefined),
      () => 'the first request is not at the upstream',
    );
    for (const path of ['/health/liveliness', '/health/readiness', '/v1/models', '/metrics'])
      expect((await fetch(proxy.url + path)).status).toBe(200);
    await first;
  });
});

describe('a slow deployment', () => {
  const setUp = useSetups();

  it('leaves slots of the proxy to other deployments if it has max_parallel_requests', async () => {
    const { ask, askMany, upstreams } = await setUp(
      [{ behavior: 'hang', params: { max_parallel_requests: 2, timeout: 5 } }, { name: 'fast' }],
      limited(4, 100),
    );
    const slow = [ask(), ask()];
    await waitFor(
      () => (upstreams[0]?.count === 2 ? true : undefined),
      () => 'the slow requests are not at the upstream',
    );
    expect((await ask()).status).toBe(429);
    expect(statuses(await askMany(100, { model: 'fast' }))).toEqual({ 200: 100 });
    await Promise.all(slow);
  });
});
