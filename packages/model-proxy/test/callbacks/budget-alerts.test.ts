/** Alerts about budgets, with a real receiver and one or two workers, and with stores that share a Redis. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import type { BudgetEvent } from '../../src/store/budget-events.js';
import { openRedisStore } from '../../src/store/redis/redis-store.js';
import type { SharedKeyStore } from '../../src/store/store.js';
import { loadConfig } from '../../src/config/load.js';
import { waitFor } from '../harness/wait.js';
import { keyOf, put, requestOf } from '../store/samples.js';
import { groupFixture } from '../workers/fixture.js';
import { startReportReceiver, type ReportReceiver } from './receiver.js';

/** The cost of a request, which has 10 prompt tokens, in US dollars. */
const PRICE = 0.01;

type Alert = Readonly<Record<string, unknown>>;

let receiver: ReportReceiver;
beforeEach(async () => {
  receiver = await startReportReceiver();
});
afterEach(() => receiver.close());

const received = (): readonly Alert[] => receiver.requests.map(({ body }) => JSON.parse(body) as Alert);
const messages = () => received().map(({ event_message: message }) => message);
const alerts = (count: number) =>
  waitFor(
    () => (received().length >= count ? received() : undefined),
    () => `received ${JSON.stringify(received())}`,
  );

describe('alerts about budgets', () => {
  const { configuration, startGroup } = groupFixture();
  const alerting = () =>
    configuration({ store: 'state', alerting: ['webhook'] }, { environment_variables: { WEBHOOK_URL: receiver.url } });

  it.each([1, 2])('MP-143 come once for each threshold, with %i workers', async (workers) => {
    const group = await startGroup(alerting(), ['--num_workers', String(workers)]);
    // A request costs PRICE.
    const key = await group.createKey({ key_alias: 'team-a', max_budget: 10 * PRICE, soft_budget: 2 * PRICE });
    // A worker gets the spend of the other workers a little later.
    await waitFor(
      async () => ((await group.chat(key)) === 429 ? true : undefined),
      () => 'the key has not exceeded its budget',
    );
    await waitFor(
      () => (messages().includes('Key Budget: Budget Crossed') ? true : undefined),
      () => `received ${JSON.stringify(messages())}`,
    );
    expect(new Set(messages()).size).toBe(messages().length);
    const soft = received().find(({ event }) => event === 'soft_budget_crossed');
    expect(soft).toMatchObject({
      event_group: 'key',
      key_alias: 'team-a',
      soft_budget: 2 * PRICE,
      max_budget: 10 * PRICE,
      token: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    });
    expect(Number(soft?.['spend'])).toBeGreaterThanOrEqual(2 * PRICE);
    expect(JSON.stringify(received())).not.toContain(key);
    await group.chat(key);
    group.process.signal('SIGTERM');
    await group.process.waitForExit();
    expect(new Set(messages()).size).toBe(messages().length);
  });

  it('are sent again until the receiver accepts them, and delay no request', async () => {
    receiver.status = 503;
    const group = await startGroup(alerting(), ['--num_workers', '1']);
    const key = await group.createKey({ soft_budget: PRICE });
    expect(await group.chat(key)).toBe(200);
    await alerts(1);
    receiver.status = null;
    expect(await group.chat(key)).toBe(200);
    receiver.status = 200;
    const all = await alerts(2);
    expect(new Set(all.map(({ event_message: message }) => message)).size).toBe(1);
  });
});

describe('alerts of proxies that share a Redis', () => {
  let redis: PrivateRedis;
  const stores: SharedKeyStore[] = [];
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await redis.stop();
  });

  it('come from only one of the proxies', async () => {
    const events: BudgetEvent[] = [];
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const open = async () => {
      const onBudgetEvent = (event: BudgetEvent) => void events.push(event);
      const store = await openRedisStore({ url: redis.url, keepDays: null, log, onBudgetEvent });
      stores.push(store);
      return store;
    };
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf({ maxBudget: 10, softBudget: 4 }));
    await waitFor(
      () => (two.keys.has('k') ? true : undefined),
      () => 'the second proxy does not have the key',
    );
    const spend = async (store: SharedKeyStore, cost: number, total: number) => {
      store.addUsage(requestOf({ key: 'k', cost }));
      await waitFor(
        () => ([one, two].every((each) => each.spendOf('k').spend >= total) ? true : undefined),
        () => `the proxies do not show a spend of ${total}`,
      );
    };
    await spend(one, 5, 5);
    await spend(two, 4, 9);
    await spend(one, 2, 11);
    await spend(two, 2, 13);
    await waitFor(
      () => (events.length >= 3 ? true : undefined),
      () => `only ${events.length} events came`,
    );
    // A proxy that starts later does not repeat earlier alerts.
    const three = await open();
    await spend(three, 1, 14);
    expect(events.map(({ message }) => message)).toEqual([
      'Soft Budget: Soft Budget Crossed',
      'Key Budget: 15% Threshold Crossed',
      'Key Budget: Budget Crossed',
    ]);
  });
});

describe('the setting `alerting`', () => {
  const load = (general: object, environment: Readonly<Record<string, string>> = {}) => {
    const model_list = [{ model_name: 'm', litellm_params: { model: 'hosted_vllm/m', api_base: 'http://x/v1' } }];
    const text = JSON.stringify({ model_list, general_settings: { master_key: 'sk-0123456789', ...general } });
    return loadConfig({ file: 'config.yaml', flags: {}, environment, readText: () => text });
  };

  it('prevents the start without a valid address in WEBHOOK_URL', () => {
    expect(() => load({ alerting: ['webhook'] })).toThrow(/alerting: \["webhook"\] needs WEBHOOK_URL/);
    expect(() => load({ alerting: ['webhook'] }, { WEBHOOK_URL: 'ftp://x' })).toThrow(/WEBHOOK_URL must be/);
  });

  it('ignores receivers other than webhook, with a warning, and sends nothing without the type budget_alerts', () => {
    const { listen, warnings } = load({ alerting: ['slack'] });
    expect(listen.budgetAlerts).toBeNull();
    expect(warnings.join('\n')).toContain('general_settings.alerting');
    const other = { alerting: ['webhook'], alert_types: ['llm_exceptions'] };
    expect(load(other, { WEBHOOK_URL: 'http://x/' }).listen.budgetAlerts).toBeNull();
    const ours = { alerting: ['webhook'], alert_types: ['budget_alerts'] };
    expect(load(ours, { WEBHOOK_URL: 'http://x/' }).listen.budgetAlerts?.url).toBe('http://x');
  });
});
