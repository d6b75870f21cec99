/** The state that the workers of a group share: keys, limits, usage and metrics, also when one of them is killed. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { whileRedisAnswers } from '../harness/answering-redis.js';
import { waitFor } from '../harness/wait.js';
import { groupFixture, MASTER, type Connection, type Group } from './fixture.js';

const { heldAnswers, complete, configuration, startGroup } = groupFixture();

/** Sends requests on each connection until it has got 429. @returns the number of admitted requests. */
async function exhaust(connections: readonly Connection[], key: string): Promise<number> {
  let admitted = 0;
  const client = async (connection: Connection) => {
    for (;;) {
      const { status } = await connection.chat(key);
      if (status === 429) return;
      expect(status).toBe(200);
      admitted += 1;
    }
  };
  await Promise.all(connections.map(client));
  return admitted;
}

const until = (isReached: () => boolean | Promise<boolean>, what: string) =>
  waitFor(
    async () => ((await isReached()) ? true : undefined),
    () => `still waiting for ${what}`,
  );

/** Returns the exported usage of keys: requests and spend. */
async function exported(group: Group): Promise<readonly { readonly requests: number; readonly spend: number }[]> {
  const answer = await group.manage('GET', '/usage/export');
  const rows = answer.json() as readonly {
    readonly subject: string;
    readonly requests: number;
    readonly spend: number;
  }[]; // the export has these rows
  return rows.filter(({ subject }) => subject === 'key');
}

describe('a key of a group', () => {
  it('MP-137 works in all workers as soon as it is created, and in none as soon as it is deleted', async () => {
    const group = await startGroup(configuration());
    const connections = await group.connectToAll(2);
    for (let round = 0; round < 20; round += 1) {
      const key = await group.createKey({ key_alias: `alias-${round}` });
      expect((await Promise.all(connections.map((one) => one.chat(key)))).map(({ status }) => status)).toEqual([
        200, 200,
      ]);
      expect((await group.manage('POST', '/key/delete', { keys: [key] })).status).toBe(200);
      expect((await Promise.all(connections.map((one) => one.chat(key)))).map(({ status }) => status)).toEqual([
        401, 401,
      ]);
    }
  });

  it('has a unique alias, also when all workers create keys at the same time', async () => {
    const group = await startGroup(configuration());
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        group.manage('POST', '/key/generate', { key_alias: `same-${index % 3}` }),
      ),
    );
    expect(made.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(made.filter(({ status }) => status === 400)).toHaveLength(27);
    const others = await Promise.all(Array.from({ length: 30 }, () => group.createKey()));
    expect(new Set(others).size).toBe(30);
  });

  it.each([400, 100, 5])('MP-138 gets exactly its rpm_limit of %s from all workers together', async (limit) => {
    const group = await startGroup(configuration(), ['--num_workers', '3']);
    const key = await group.createKey({ rpm_limit: limit });
    const connections = [...(await group.connectToAll(3)), ...(await group.connectToAll(3))];
    expect(await exhaust(connections, key)).toBe(limit);
  });

  it('MP-138 gets its parallel requests back when a worker is killed', async () => {
    const group = await startGroup(configuration());
    const key = await group.createKey({ max_parallel_requests: 4 });
    const [, other] = await group.connectToAll(2);
    const [firstPid] = group.workers();
    // Three connections to the worker that the test kills: each connection sends one request at a time.
    const toFirst = await Promise.all([1, 2, 3].map(async () => (await group.connectToAll(2))[0]));
    const cut = toFirst.map(async (connection) => connection?.chat(key, 'wait').catch(() => 'cut'));
    const kept = other?.chat(key, 'wait');
    await until(() => heldAnswers.length === 4, 'four requests at the upstream');
    expect(await group.chat(key)).toBe(429);
    process.kill(firstPid ?? 0, 'SIGKILL');
    expect(await Promise.all(cut)).toEqual(['cut', 'cut', 'cut']);
    const again: Promise<number>[] = [];
    await until(async () => {
      const before = heldAnswers.length;
      const sent = group.chat(key, 'wait');
      const status = await Promise.race([
        sent,
        until(() => heldAnswers.length > before, 'a request').then(() => 'held'),
      ]);
      if (status === 'held') again.push(sent);
      return again.length === 3;
    }, 'three free slots');
    expect(await group.chat(key)).toBe(429);
    for (const response of heldAnswers.splice(0)) complete(response);
    expect([(await kept)?.status, ...(await Promise.all(again))]).toEqual([200, 200, 200, 200]);
  });

  it('has one budget, whose spend all workers know', async () => {
    const group = await startGroup(configuration());
    const key = await group.createKey({ max_budget: 0.055 });
    const [first, second] = await group.connectToAll(2);
    // Each request costs 0.01.
    for (let n = 0; n < 3; n += 1)
      for (const connection of [first, second]) expect((await connection?.chat(key))?.status).toBe(200);
    const spent = async (connection: Connection | undefined) =>
      (
        JSON.parse((await connection?.get('/key/info', key))?.text ?? '') as {
          readonly info: { readonly spend: number };
        }
      ) // /key/info answers as LiteLLM's does
      .info.spend;
    await until(async () => Math.abs((await spent(first)) - 0.06) < 1e-9, 'the spend at the first worker');
    await until(async () => Math.abs((await spent(second)) - 0.06) < 1e-9, 'the spend at the second worker');
    expect([(await first?.chat(key))?.status, (await second?.chat(key))?.status]).toEqual([429, 429]);
    await group.manage('POST', '/key/update', { key, spend: 0 });
    await until(async () => (await second?.chat(key))?.status === 200, 'the reset spend');
  });
});

describe('the usage of a group', () => {
  it('MP-139 is complete in reports, and loses nothing that a report has shown when a worker is killed', async () => {
    const group = await startGroup(configuration());
    const key = await group.createKey();
    const connections = await group.connectToAll(2);
    for (let n = 0; n < 10; n += 1) for (const connection of connections) await connection.chat(key);
    expect(await exported(group)).toEqual([expect.objectContaining({ requests: 20 })]);
    const [toKill = 0] = group.workers();
    process.kill(toKill, 'SIGKILL');
    await group.process.waitForOutput(/a worker serves clients again/);
    expect(await exported(group)).toEqual([expect.objectContaining({ requests: 20 })]);
    expect(await group.chat(key)).toBe(200);
    group.process.signal('SIGTERM');
    expect(await group.process.waitForExit()).toBe(0);
    const next = await startGroup(configuration());
    expect(await next.chat(key)).toBe(200);
    expect((await exported(next))[0]?.requests).toBe(22);
  });

  it('MP-139 loses at most its last second when the first process is killed, and no key is lost', async () => {
    const group = await startGroup(configuration());
    const key = await group.createKey();
    const connections = await group.connectToAll(2);
    let sent = 0;
    /** When each request was answered. */
    const times: number[] = [];
    const end = Date.now() + 3000;
    while (Date.now() < end)
      for (const connection of connections) {
        await connection.chat(key);
        times.push(Date.now());
        sent += 1;
      }
    group.process.signal('SIGKILL');
    const killedAt = Date.now();
    await group.process.waitForExit();
    const next = await startGroup(configuration());
    expect(await next.chat(key)).toBe(200);
    const counted = ((await exported(next))[0]?.requests ?? 0) - 1;
    expect(counted).toBeLessThanOrEqual(sent);
    expect(counted).toBeGreaterThanOrEqual(times.filter((time) => time < killedAt - 1000).length);
  });
});

describe('the metrics of a group', () => {
  const requests = async (connection: Connection | undefined): Promise<number> => {
    const { text } = (await connection?.get('/metrics')) ?? { text: '' };
    return Number(/^litellm_proxy_total_requests_metric_total\{.*model_id="first".*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };

  it('MP-140 are the sum of all workers, and do not decrease when a worker is killed', async () => {
    const group = await startGroup(configuration());
    const [first, second] = await group.connectToAll(2);
    for (let n = 0; n < 3; n += 1) await first?.chat(MASTER);
    for (let n = 0; n < 4; n += 1) await second?.chat(MASTER);
    expect([await requests(first), await requests(second)]).toEqual([7, 7]);
    const { text } = (await first?.get('/metrics')) ?? { text: '' };
    expect(text).toMatch(/^litellm_llm_api_latency_metric_count\{.*\} 7$/m);
    expect(text).toMatch(/^process_cpu_seconds_total \d/m);
    expect(text).toMatch(/^process_start_time_seconds \d/m);
    const status = (await second?.get('/model/status', MASTER))?.text ?? '';
    expect(JSON.parse(status)).toEqual({ data: [expect.objectContaining({ model_id: 'first', requests: 7 })] });
    const [toKill = 0] = group.workers();
    process.kill(toKill, 'SIGKILL');
    await group.process.waitForOutput(/a worker serves clients again/);
    for (const connection of await group.connectToAll(2)) expect(await requests(connection)).toBe(7);
  });
});

describe('two groups with one Redis', () => {
  let redis: PrivateRedis;
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis.stop());

  it('MP-138 admit together exactly the rpm_limit of a key', async () => {
    const config = configuration({ store: redis.url });
    const admitted = await whileRedisAnswers(
      async () => [await startGroup(config), await startGroup(config)],
      async (groups) => {
        const key = await groups[0]?.createKey({ rpm_limit: 400 });
        const connections = (await Promise.all(groups.map((group) => group.connectToAll(2)))).flat();
        await until(async () => {
          const answers = await Promise.all(connections.map((one) => one.get('/v1/models', key)));
          return answers.every(({ status }) => status === 200);
        }, 'the key at all workers');
        return exhaust(connections, key ?? '');
      },
    );
    expect(admitted).toBe(400);
  });
});
