/** Reports to webhooks, with a real receiver. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANSWER, type Behavior } from '../routing/faulty-upstream.js';
import { useSetups, type Blocks } from '../routing/fixture.js';
import { waitFor } from '../harness/wait.js';
import { startReportReceiver, type ReportReceiver } from './receiver.js';

type Report = Readonly<Record<string, unknown>>;

const setUp = useSetups();
let receiver: ReportReceiver;
beforeEach(async () => {
  receiver = await startReportReceiver();
});
afterEach(() => receiver.close());

/** Returns blocks with a callback for the receiver. */
const reporting = (more: object = {}, list = 'callbacks'): Blocks => ({
  litellm_settings: { [list]: ['ours'], num_retries: 0 },
  callback_settings: {
    ours: { callback_type: 'generic_api', endpoint: receiver.url, flush_interval: 0.05, retry_delay: 0.01, ...more },
  },
});

const received = (): readonly Report[] => receiver.requests.flatMap(({ body }) => JSON.parse(body) as Report[]);

/** Waits until the receiver has at least `count` reports. */
const reports = (count: number) =>
  waitFor(
    () => (received().length >= count ? received() : undefined),
    () => `received ${received().length} reports`,
  );

const prices = { input_cost_per_token: 0.5, output_cost_per_token: 2 };

describe('a callback of callback_settings', () => {
  it('gets a report of a request, with its usage and cost, but with neither contents nor keys', async () => {
    const { ask } = await setUp([{ info: prices }], reporting({ headers: { 'X-Report-Key': 'geheimnis' } }));
    const { headers } = await ask({ user: 'u-1', metadata: { tags: ['red'] } }, { 'x-litellm-call-id': 'call-1' });
    const [report] = await reports(1);
    expect(report).toMatchObject({
      id: 'call-1',
      call_type: 'acompletion',
      status: 'success',
      stream: false,
      custom_llm_provider: 'hosted_vllm',
      model: 'm',
      model_group: 'chat',
      model_id: headers['x-litellm-model-id'],
      prompt_tokens: 5,
      completion_tokens: 5,
      total_tokens: 10,
      response_cost: 12.5,
      request_tags: ['red'],
      end_user: 'u-1',
      requester_ip_address: '127.0.0.1',
      messages: 'redacted-by-litellm',
      response: 'redacted-by-litellm',
      error_str: null,
    });
    const [start, end] = [Number(report?.['startTime']), Number(report?.['endTime'])];
    expect(Math.abs(end * 1000 - Date.now())).toBeLessThan(60_000);
    expect(end).toBeGreaterThan(start);
    expect(report?.['response_time']).toBeCloseTo(end - start, 2);
    expect(receiver.requests[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-report-key': 'geheimnis',
    });
    for (const { body } of receiver.requests) expect(body).not.toMatch(new RegExp(`Hello|${ANSWER}|sk-upstream`));
  });

  it('gets a report of a failed request, with its error', async () => {
    const { ask } = await setUp([{ behavior: { status: 503 } }], reporting());
    await ask();
    expect((await reports(1))[0]).toMatchObject({
      status: 'failure',
      model_group: 'chat',
      error_str: expect.stringContaining('ServiceUnavailable'),
      error_information: { error_code: '503', llm_provider: 'hosted_vllm' },
    });
  });

  it('gets only the reports of its list and of event_types', async () => {
    const behavior: Behavior = { status: 503 };
    const failures = await setUp([{ behavior }, { name: 'ok' }], reporting({}, 'failure_callback'));
    await failures.ask({ model: 'ok' });
    await failures.ask();
    await reports(1);
    await failures.proxy.close();
    const successes = await setUp([{ behavior }, { name: 'ok' }], reporting({ event_types: ['llm_api_success'] }));
    await successes.ask();
    await successes.ask({ model: 'ok' });
    await successes.proxy.close();
    expect((await reports(2)).map(({ status, model_group: group }) => [status, group])).toEqual([
      ['failure', 'chat'],
      ['success', 'ok'],
    ]);
  });

  it('gets no report of a request whose client is not accepted', async () => {
    const { proxy, ask } = await setUp([{}], { ...reporting(), general_settings: { master_key: 'sk-master' } });
    expect((await ask()).status).toBe(401);
    await ask({}, { authorization: 'Bearer sk-master' });
    await proxy.close();
    expect(received().map(({ status }) => status)).toEqual(['success']);
  });

  it.each([
    ['ndjson', (body: string) => body.trimEnd().split('\n').length],
    ['single', () => 1],
    ['json_array', (body: string) => (JSON.parse(body) as unknown[]).length],
  ])('gets its reports in log_format %s when the proxy stops', async (format, countIn) => {
    const { proxy, askMany } = await setUp([{}], reporting({ log_format: format, flush_interval: 3600 }));
    await askMany(20);
    expect(receiver.requests).toEqual([]);
    await proxy.close();
    expect(receiver.requests.reduce((sum, { body }) => sum + countIn(body), 0)).toBe(20);
    expect(receiver.requests).toHaveLength(format === 'single' ? 20 : 1);
  });

  it('gets a batch as soon as batch_size reports wait, before flush_interval', async () => {
    const { askMany } = await setUp([{}], reporting({ batch_size: 10, flush_interval: 3600 }));
    await askMany(30);
    const all = await reports(30);
    expect(new Set(all.map(({ id }) => id)).size).toBe(30);
    for (const { body } of receiver.requests) expect((JSON.parse(body) as unknown[]).length).toBeLessThanOrEqual(10);
  });

  it('gets the waiting reports again and again until it answers 200', async () => {
    receiver.status = 503;
    const { ask } = await setUp([{}], reporting({ max_retries: 100 }));
    await ask();
    await waitFor(
      () => (receiver.requests.length >= 3 ? true : undefined),
      () => 'the proxy does not try again',
    );
    receiver.status = 200;
    const before = receiver.requests.length;
    await waitFor(
      () => (receiver.requests.length > before ? true : undefined),
      () => 'the receiver got no further report',
    );
    await ask();
    await waitFor(
      () => (new Set(received().map(({ id }) => id)).size === 2 ? true : undefined),
      () => 'the second report is missing',
    );
  });

  it('delays no request and no stop while it hangs, and the log reports what is lost', async () => {
    receiver.status = null;
    const { proxy, askMany } = await setUp([{}], reporting({ timeout: 3600, batch_size: 1 }));
    expect((await askMany(200)).every(({ status }) => status === 200)).toBe(true);
    const startedAt = performance.now();
    await proxy.close();
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    expect(receiver.requests).toHaveLength(1);
    expect(proxy.logged().join('\n')).toMatch(/a callback did not get reports.*200/);
  });

  it('loses the reports that it answers with 400; the log has their number, and at the end the total', async () => {
    receiver.status = 400;
    const { proxy, ask, askMany } = await setUp([{}], reporting());
    const warnings = () => proxy.logged().filter((line) => line.includes('a callback did not get reports'));
    await ask();
    await waitFor(
      () => (warnings().length > 0 ? true : undefined),
      () => 'the proxy logged no warning',
    );
    await askMany(20);
    await proxy.close();
    expect(warnings().map((line) => /\blost=(\d+)/.exec(line)?.[1])).toEqual(['1', '21']);
  });

  it('gets a report only once if it answers 400 or a redirect', async () => {
    for (const status of [400, 307]) {
      receiver.status = status;
      const { proxy, ask } = await setUp([{}], reporting({ max_retries: 5 }));
      const before = receiver.requests.length;
      await ask();
      await waitFor(
        () => (proxy.logged().join('\n').includes(`status ${status}`) ? true : undefined),
        () => 'the proxy logged no warning',
      );
      expect(receiver.requests).toHaveLength(before + 1);
    }
  });

  it('gets the usage of a stream, also if the client does not request it', async () => {
    const { ask } = await setUp([{ info: prices }], reporting());
    const { text } = await ask({ stream: true });
    expect(text).not.toContain('prompt_tokens');
    expect((await reports(1))[0]).toMatchObject({ stream: true, status: 'success' });
    expect(Number((await reports(1))[0]?.['total_tokens'])).toBeGreaterThan(0);
  });
});

describe('a callback of the environment', () => {
  it.each([
    ['generic_api', { GENERIC_LOGGER_HEADERS: 'X-A=1,X-B=a=b' }, { 'x-a': '1', 'x-b': 'a=b' }],
    ['generic', { GENERIC_LOGGER_HEADERS: '{"X-A": "1,2"}' }, { 'x-a': '1,2' }],
    ['webhook', {}, {}],
  ])('%s has its address and headers from variables', async (name, environment, headers) => {
    const { proxy, ask } = await setUp(
      [{}],
      { litellm_settings: { success_callback: [name] } },
      { environment: { GENERIC_LOGGER_ENDPOINT: receiver.url, WEBHOOK_URL: receiver.url, ...environment } },
    );
    expect(proxy.warnings.join('\n')).not.toContain('not implemented');
    await ask();
    await proxy.close();
    expect(received()).toHaveLength(1);
    expect(receiver.requests[0]?.headers).toMatchObject(headers);
  });
});
