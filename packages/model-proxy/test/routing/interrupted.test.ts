/** Tests streams that break off after their beginning has reached the client, with a whole proxy. */
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { documentedStreams, eventsText, failure } from '../providers/anthropic-samples.js';
import { waitFor } from '../harness/wait.js';
import { FIRST_EVENT, type Behavior } from './faulty-upstream.js';
import { useSetups, type Setup } from './fixture.js';

const DONE = 'data: [DONE]\n\n';
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":60,"completion_tokens":40,"total_tokens":100}}\n\n';
const overloaded = eventsText([failure('overloaded_error', 'Overloaded')]);
const begunMessage = documentedStreams.text.split('event: content_block_stop')[0] ?? '';
/** Without `allowed_fails`, the proxy cools a deployment down after this number of requests if all of them failed. */
const REQUESTS_BEFORE_COOLDOWN = 5;
const noRetries = { router_settings: { num_retries: 0 } };

/** Requests a stream, and closes the connection after the first bytes. */
async function abandon({ proxy }: Setup): Promise<void> {
  const sent = request(`${proxy.url}/v1/chat/completions`, { method: 'POST' });
  sent.on('error', () => undefined);
  sent.end(JSON.stringify({ model: 'chat', messages: [], stream: true }));
  const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
  await once(response, 'data');
  sent.destroy();
}

describe('a stream that breaks off', () => {
  const setUp = useSetups();

  it.each<[string, string, Behavior]>([
    ['is reset', 'hosted_vllm/m', { events: FIRST_EVENT, end: 'reset' }],
    ['closes without its last events', 'hosted_vllm/m', { events: FIRST_EVENT, end: 'closed' }],
    [
      'ends with an error event',
      'hosted_vllm/m',
      { events: `${FIRST_EVENT}data: {"error":{"message":"x"}}\n\n`, end: 'closed' },
    ],
    [
      'ends with an error event and [DONE]',
      'hosted_vllm/m',
      { events: `${FIRST_EVENT}data: {"error":"x"}\n\n${DONE}`, end: 'closed' },
    ],
    ['has an error in its dialect', 'anthropic/claude', { events: begunMessage + overloaded, end: 'never' }],
  ])('frees the slot; the deployment counts its tokens and a failure: %s', async (_how, model, behavior) => {
    const setup = await setUp([{ behavior, params: { model, max_parallel_requests: 1, tpm: 1000 } }], {
      router_settings: { num_retries: 0, allowed_fails: 1, cooldown_time: 600 },
    });
    const { ask, upstreams } = setup;
    // The proxy estimates one token for four characters, so a request with this user exceeds 400 tokens.
    const user = 'x'.repeat(1600);
    expect([(await ask({ stream: true, user })).text, upstreams[0]?.count]).toEqual([
      expect.stringContaining('error'),
      1,
    ]);
    expect((await ask({ stream: true, user })).status).toBe(200);
    const { status, text } = await ask();
    expect([status, text, upstreams[0]?.count]).toEqual([429, expect.stringContaining('No deployments available'), 2]);

    const counted = await setUp([{ behavior, params: { model, tpm: 400 } }], noRetries);
    await counted.ask({ stream: true, user });
    const limited = await counted.ask();
    expect([limited.status, limited.text]).toEqual([429, expect.stringContaining('TPM limit=400')]);
  });

  it('cools its deployment down, so that another one serves later requests', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { events: FIRST_EVENT, end: 'closed' } }, {}], {
      router_settings: { num_retries: 0, cooldown_time: 600 },
    });
    await waitFor(
      async () => {
        await ask({ stream: true });
        return upstreams[0]?.count === REQUESTS_BEFORE_COOLDOWN ? true : undefined;
      },
      () => `the first upstream got ${upstreams[0]?.count} requests`,
    );
    for (let count = 0; count < 20; count += 1) expect((await ask({ stream: true })).text).toContain(DONE);
    expect(upstreams[0]?.count).toBe(REQUESTS_BEFORE_COOLDOWN);
  });

  it('does not count as a failure if it is reset after [DONE]', async () => {
    const { ask } = await setUp([{ behavior: { events: FIRST_EVENT + DONE, end: 'reset' } }], {
      router_settings: { num_retries: 0, allowed_fails: 0, cooldown_time: 600 },
    });
    for (let count = 0; count < 3; count += 1) expect((await ask({ stream: true })).text).toContain(DONE);
  });
});

describe('a stream that its client abandons', () => {
  const setUp = useSetups();

  it.each<[string, string, string]>([
    ['as the upstream reported', 'hosted_vllm/m', FIRST_EVENT + USAGE],
    ['by an estimate', 'hosted_vllm/m', FIRST_EVENT.repeat(100)],
    ['by an estimate, of a translated stream', 'anthropic/claude', begunMessage],
  ])('frees its slot, and its tokens count for the deployment: %s', async (_how, model, events) => {
    const setup = await setUp(
      [{ behavior: { events, end: 'never' }, params: { model, max_parallel_requests: 1, tpm: 10 } }],
      noRetries,
    );
    await abandon(setup);
    await waitFor(
      async () => {
        const { text } = await setup.ask();
        return text.includes('TPM limit=10') ? true : undefined;
      },
      () => 'the slot is in use, or no tokens were counted',
    );
    expect(setup.upstreams[0]?.count).toBe(1);
  });
});
