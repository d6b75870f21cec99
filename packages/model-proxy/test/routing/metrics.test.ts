/** Tests the metrics of deployments after failures, retries and fallbacks. */
import { describe, expect, it } from '@jest/globals';
import { FIRST_EVENT } from './faulty-upstream.js';
import { useSetups } from './fixture.js';

describe('/metrics', () => {
  const setUp = useSetups();

  it('shows failed attempts, cooldowns and states of deployments', async () => {
    const { proxy, ask, upstreams } = await setUp(
      [{ behavior: { status: 429 }, params: { order: 1 } }, { params: { order: 2 } }, { name: 'other' }],
      { router_settings: { cooldown_time: 3600, num_retries: 1 } },
    );
    expect((await ask()).status).toBe(200);
    const other = upstreams[2];
    if (other !== undefined) other.behavior = { status: 401 };
    expect((await ask({ model: 'other' })).status).toBe(401);
    const text = await (await fetch(`${proxy.url}/metrics`)).text();
    const valueOf = (name: string, labels: string) =>
      text
        .split('\n')
        .find((line) => line.startsWith(`${name}{`) && line.includes(labels))
        ?.split(' ')
        .at(-1);
    expect(['0', '1', '2'].map((id) => valueOf('litellm_deployment_state', `model_id="${id}"`))).toEqual([
      '2',
      '0',
      '1',
    ]);
    expect(valueOf('litellm_deployment_cooled_down_total', 'model_id="0"')).toBe('1');
    const failures = 'litellm_deployment_failure_responses_total';
    expect(valueOf(failures, 'model_id="0",exception_status="429"')).toBe('1');
    expect(valueOf(failures, 'model_id="2",exception_status="401"')).toBe('1');
    expect(valueOf('litellm_proxy_failed_requests_metric_total', 'exception_status="429"')).toBeUndefined();
  });

  it('shows each failed attempt once if an answer breaks off, also after another failure', async () => {
    const { proxy, ask } = await setUp(
      [
        { behavior: { status: 500 }, params: { order: 1 } },
        { behavior: { events: FIRST_EVENT, end: 'closed' }, params: { order: 2 } },
        { name: 'alone', behavior: { events: FIRST_EVENT, end: 'closed' } },
      ],
      { router_settings: { num_retries: 1 } },
    );
    for (const model of ['chat', 'alone']) expect((await ask({ model, stream: true })).text).toContain('"error"');
    const lines = (await (await fetch(`${proxy.url}/metrics`)).text()).split('\n');
    const failed = (model: string, id: string, status: number, kind: string) =>
      `litellm_deployment_failure_responses_total{route="/v1/chat/completions",requested_model="${model}",model_id="${id}",exception_status="${status}",exception_class="${kind}"} 1`;
    expect(lines.filter((line) => line.startsWith('litellm_deployment_failure_responses_total')).sort()).toEqual([
      failed('alone', '2', 200, 'malformedAnswer'),
      failed('chat', '0', 500, 'upstreamStatus'),
      failed('chat', '1', 200, 'malformedAnswer'),
    ]);
  });

  it('shows the attempt whose answer is too large, also after another failure', async () => {
    const large = { status: 200, body: { text: 'x'.repeat(10_000) } };
    const { proxy, ask } = await setUp(
      [
        { behavior: { status: 500 }, params: { order: 1 } },
        { behavior: large, params: { order: 2 } },
        { name: 'alone', behavior: large },
      ],
      { router_settings: { num_retries: 1 }, general_settings: { max_response_size_mb: 0.001 } },
    );
    for (const model of ['chat', 'alone']) expect((await ask({ model })).status).toBe(502);
    const lines = (await (await fetch(`${proxy.url}/metrics`)).text()).split('\n');
    const failed = (model: string, id: string, status: number, kind: string) =>
      `litellm_deployment_failure_responses_total{route="/v1/chat/completions",requested_model="${model}",model_id="${id}",exception_status="${status}",exception_class="${kind}"} 1`;
    expect(lines.filter((line) => line.startsWith('litellm_deployment_failure_responses_total')).sort()).toEqual([
      failed('alone', '2', 502, 'malformedAnswer'),
      failed('chat', '0', 500, 'upstreamStatus'),
      failed('chat', '1', 502, 'malformedAnswer'),
    ]);
  });

  it('shows spending, retries, fallbacks, and requests in progress at deployments', async () => {
    const prices = { input_cost_per_token: 0.1, output_cost_per_token: 0.3 };
    const { proxy, ask } = await setUp(
      [{ info: prices }, { name: 'other', info: prices }, { name: 'fails', behavior: { status: 500 } }],
      { router_settings: { num_retries: 1, fallbacks: [{ fails: ['other'] }] } },
    );
    expect((await ask({ model: 'fails' })).status).toBe(200);
    expect((await ask({ model: 'chat,other' })).status).toBe(200);
    const lines = (await (await fetch(`${proxy.url}/metrics`)).text()).split('\n');
    const labels = (model: string, id: string) =>
      `{route="/v1/chat/completions",requested_model="${model}",model_id="${id}"}`;
    // Each answer has five tokens of each kind.
    expect(lines.filter((line) => /^(?:litellm_spend|rackless_(?:retries|fallbacks))/.test(line)).sort()).toEqual([
      `litellm_spend_metric_total${labels('chat', '0')} 2`,
      `litellm_spend_metric_total${labels('other', '1')} 4`,
      `rackless_fallbacks_total${labels('other', '1')} 1`,
      `rackless_retries_total${labels('other', '1')} 1`,
    ]);
    expect(lines).toContain(
      '# HELP rackless_retries_total Attempts after the first one at each model group of a request.',
    );
    expect(lines).toContain('litellm_in_flight_requests 1');
    expect(lines).toContain('rackless_queued_requests 0');
    expect(lines).toContain('rackless_deployment_in_flight_requests{requested_model="chat",model_id="0"} 0');
  });
});
