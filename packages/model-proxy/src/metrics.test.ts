import { afterEach, describe, expect, it } from '@jest/globals';
import { createMetrics, type Metrics } from './metrics.js';
import type { RequestRecord } from './series.js';

let metrics: Metrics | undefined;
afterEach(() => metrics?.close());

const record: RequestRecord = {
  route: '/v1/chat/completions',
  modelGroup: 'gpt "4"',
  modelId: 'id',
  status: 200,
  errorKind: null,
  totalMs: 20,
  upstreamMs: 18,
  firstTokenMs: null,
  overheadMs: 0.2,
  inputTokens: 3,
  outputTokens: 4,
  totalTokens: 7,
  costUsd: 0.5,
  retries: 0,
  fallbacks: 0,
  droppedHeaders: 0,
  failedAttempts: [],
};

/** Returns LiteLLM's metrics after these requests, while one more request is in flight. */
async function exposed(...records: readonly RequestRecord[]): Promise<readonly string[]> {
  metrics = createMetrics();
  for (const one of records) {
    metrics.requestStarted();
    metrics.add(one);
    metrics.requestEnded();
  }
  metrics.requestStarted();
  await metrics.expose({ deployments: [], queued: 0 }, []);
  // The result is the second of two scrapes: a scrape must not count anything again.
  const { text } = await metrics.expose({ deployments: [], queued: 0 }, []);
  return text.split('\n').filter((line) => line.startsWith('litellm_'));
}
const labels = 'route="/v1/chat/completions",requested_model="gpt \\"4\\"",model_id="id"';

describe('metrics', () => {
  it("count requests, failures, tokens and requests in flight under LiteLLM's names", async () => {
    const lines = await exposed(record, record, { ...record, status: 429, errorKind: 'upstreamStatus' });
    expect(lines.filter((line) => !/_latency_|_time_/.test(line)).sort()).toEqual([
      `litellm_deployment_failure_responses_total{${labels},exception_status="429",exception_class="upstreamStatus"} 1`,
      'litellm_in_flight_requests 1',
      `litellm_input_tokens_metric_total{${labels}} 9`,
      `litellm_output_tokens_metric_total{${labels}} 12`,
      `litellm_proxy_failed_requests_metric_total{${labels},exception_status="429",exception_class="upstreamStatus"} 1`,
      `litellm_proxy_total_requests_metric_total{${labels},status_code="200"} 2`,
      `litellm_proxy_total_requests_metric_total{${labels},status_code="429"} 1`,
      `litellm_spend_metric_total{${labels}} 1.5`,
      `litellm_total_tokens_metric_total{${labels}} 21`,
    ]);
  });

  it('have cumulative buckets, sum and count of each latency that is known', async () => {
    const lines = await exposed(record, { ...record, totalMs: 700_000, upstreamMs: null, overheadMs: null });
    const total = lines.filter((line) => line.startsWith('litellm_request_total_latency_metric'));
    const name = 'litellm_request_total_latency_metric';
    expect(total).toEqual([
      `${name}_bucket{${labels},le="0.005"} 0`,
      `${name}_bucket{${labels},le="0.01"} 0`,
      ...['0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '30', '60', '120', '300', '600'].map(
        (bound) => `${name}_bucket{${labels},le="${bound}"} 1`,
      ),
      `${name}_bucket{${labels},le="+Inf"} 2`,
      `${name}_sum{${labels}} 700.02`,
      `${name}_count{${labels}} 2`,
    ]);
    expect(lines).toContain(`litellm_llm_api_latency_metric_count{${labels}} 1`);
    expect(lines).toContain(`litellm_overhead_latency_metric_bucket{${labels},le="0.00025"} 1`);
    expect(lines.filter((line) => line.includes('time_to_first_token'))).toEqual([]);
  });
});
