/** Reports of many days and keys: the proxy sends them day by day, or only the keys with the highest spend. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayOf } from '../../src/store/usage.js';
import { open } from '../harness/call.js';
import { MASTER, serveKeys, type KeyedApp } from './fixture.js';

const DAY_MS = 86_400_000;
let app: KeyedApp;
let today: string;
beforeEach(async () => {
  app = await serveKeys({ settings: { countsUsage: true } });
  today = dayOf(app.clock.ms);
});
afterEach(() => app.close());

const daysAgo = (count: number): string => dayOf(app.clock.ms - count * DAY_MS);

/** A row of the store: its subject, name and model, and its number of requests, which is also its cost. */
type Row = readonly [subject: 'key' | 'tag', name: string, model: string, requests: number];

/** Writes the file of a day. */
function writeDay(day: string, rows: readonly Row[]): void {
  const line = (value: readonly unknown[]): string => {
    const text = JSON.stringify(value);
    return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`;
  };
  const numbers = { failed: 1, inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  const lines = rows.map(([subject, name, model, requests], index) =>
    line(['usage', String(index), { subject, name, model, requests, cost: requests, ...numbers }]),
  );
  const format = line(['format', 'rackless-model-proxy-store', { version: 1 }]);
  writeFileSync(join(app.folder, `usage-${day}.journal`), format + lines.join(''));
}

describe('a report of a day', () => {
  it('has all rows, although they are more than a call of a function can have arguments', async () => {
    writeDay(
      daysAgo(1),
      Array.from({ length: 150_000 }, (_, n): Row => ['key', `key-${n}`, 'm', 1]),
    );
    const answer = await app.manage('GET', `/usage/export?start_date=${daysAgo(1)}`);
    expect(answer.json()).toHaveLength(150_000);
  });

  it('leaves turns of the event loop to other requests while its file is read', async () => {
    writeDay(
      daysAgo(1),
      Array.from({ length: 50_000 }, (_, n): Row => ['key', `key-${n}`, 'm', 1]),
    );
    const reading = { isOver: false };
    let turns = 0;
    const counting = (async () => {
      for (; !reading.isOver; turns += 1) await nextTurn();
    })();
    let count = 0;
    for await (const rows of app.store.usageByDay(daysAgo(1), daysAgo(1))) {
      count += rows.length;
      reading.isOver = true;
    }
    await counting;
    expect(count).toBe(50_000);
    expect(turns).toBeGreaterThan(10);
  });
});

describe('a report of several days', () => {
  it('is one JSON list, also if some days have no rows', async () => {
    writeDay(daysAgo(4), []);
    writeDay(daysAgo(3), [['key', 'a', 'm', 1]]);
    writeDay(daysAgo(2), [['tag', 'blue', 'm', 1]]);
    writeDay(daysAgo(1), [['key', 'a', 'm', 2]]);
    const exported = await app.manage('GET', '/usage/export');
    expect((exported.json() as { requests: number }[]).map(({ requests }) => requests)).toEqual([1, 1, 2]);
    const logs = await app.manage('GET', `/spend/logs?start_date=${daysAgo(9)}&end_date=${today}`);
    expect((logs.json() as { startTime: string }[]).map(({ startTime }) => startTime)).toEqual([
      daysAgo(3),
      daysAgo(1),
    ]);
    expect((await app.manage('GET', `/usage/export?start_date=${today}`)).text).toBe('[]');
    const table = await app.manage('GET', `/usage/export?start_date=${today}&format=csv`);
    expect(table.text).toMatch(/^day,subject,.*\r\n$/);
  });

  it('is a 503 if the first day cannot be read, and breaks off if a later day cannot be read', async () => {
    mkdirSync(join(app.folder, `usage-${daysAgo(2)}.journal`));
    expect((await app.manage('GET', '/usage/export')).status).toBe(503);
    expect((await app.manage('GET', '/usage/export?format=csv')).status).toBe(503);
    writeDay(daysAgo(3), [['key', 'a', 'm', 1]]);
    await expect(app.manage('GET', '/usage/export')).rejects.toThrow();
    await expect(app.manage('GET', '/usage/export?format=csv')).rejects.toThrow();
  });

  /** Replaces the store's usage by a day that repeats without end. Resolves when the report stops reading. */
  function endlessUsage(): Promise<void> {
    const numbers = { requests: 1, failed: 0, inputTokens: 1, outputTokens: 1, totalTokens: 2, cost: 1 };
    return new Promise((resolve) => {
      app.store.usageByDay = async function* () {
        try {
          for (;;) {
            yield [{ day: today, subject: 'key', name: 'a', model: 'm', ...numbers }];
            await nextTurn();
          }
        } finally {
          resolve();
        }
      };
    });
  }

  it('stops when its client disconnects', async () => {
    const stopped = endlessUsage();
    const answer = await open(`${app.url}/usage/export`, {
      method: 'GET',
      headers: { authorization: `Bearer ${MASTER}` },
    });
    answer.leave();
    await stopped;
  });
});

describe('/usage/daily', () => {
  const daily = async (query: string) => (await app.manage('GET', `/usage/daily?${query}`)).json() as object;
  const sums = (rows: number, requests: number) => ({
    ...{ requests, failed_requests: rows, prompt_tokens: 3 * rows, completion_tokens: 2 * rows },
    ...{ total_tokens: 5 * rows, spend: requests },
  });
  beforeEach(() => {
    writeDay(daysAgo(2), [
      ['key', 'a', 'm', 1],
      ['key', 'a', 'n', 2],
      ['key', 'b', 'm', 10],
      ['tag', 'blue', 'm', 99],
    ]);
    writeDay(daysAgo(1), [
      ['key', 'a', 'm', 4],
      ['key', 'c', 'm', 1],
      ['key', 'd', 'm', 2],
    ]);
  });

  it('has the keys with the highest spend, with their values of each day, and the sum of the others', async () => {
    expect(await daily(`start_date=${daysAgo(2)}&size=2`)).toEqual({
      days: [daysAgo(2), daysAgo(1), today],
      groups: [
        { name: 'b', key_alias: null, ...sums(1, 10), daily: [10, 0, 0] },
        { name: 'a', key_alias: null, ...sums(3, 7), daily: [3, 4, 0] },
      ],
      others: { count: 2, ...sums(2, 3), daily: [0, 3, 0] },
    });
  });

  it('has the exact cost of each day, also a small one after a large one', async () => {
    writeDay(daysAgo(2), [['key', 'a', 'm', 1_000_000]]);
    writeDay(daysAgo(1), [['key', 'a', 'm', 0.1]]);
    expect(await daily(`start_date=${daysAgo(2)}`)).toMatchObject({ groups: [{ daily: [1_000_000, 0.1, 0] }] });
  });

  it('can have the models or tags with the most tokens or requests instead', async () => {
    expect(await daily(`start_date=${daysAgo(2)}&group_by=model&measure=total_tokens`)).toEqual({
      days: [daysAgo(2), daysAgo(1), today],
      groups: [
        { name: 'm', key_alias: null, ...sums(5, 18), daily: [10, 15, 0] },
        { name: 'n', key_alias: null, ...sums(1, 2), daily: [5, 0, 0] },
      ],
      others: { count: 0, ...sums(0, 0), daily: [0, 0, 0] },
    });
    expect(await daily(`start_date=${daysAgo(2)}&group_by=tag&measure=requests`)).toMatchObject({
      groups: [{ name: 'blue', daily: [99, 0, 0] }],
    });
  });

  it('shows the aliases of keys', async () => {
    await app.create({ key_alias: 'team-a', key: 'sk-0123456789abcdef' });
    await app.chat('sk-0123456789abcdef');
    expect(await daily(`start_date=${today}`)).toMatchObject({ groups: [{ key_alias: 'team-a', daily: [0] }] });
  });

  it.each(['group_by=team', 'measure=cost', 'size=101', 'start_date=2020-01-01', 'end_date=2020-01-01'])(
    'rejects %s',
    async (query) => {
      expect((await app.manage('GET', `/usage/daily?${query}`)).status).toBe(400);
    },
  );
});
