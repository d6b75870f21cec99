/** The copy that a replica has of the shared store, with a real Redis. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { connectRedis, type RedisLink } from '@rackless/daemon/shared-store/redis-link.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { waitFor } from '../daemon/process.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';

let redis: PrivateRedis;
let link: RedisLink;
let store: SharedStore;
let logged: string[];
beforeEach(async () => {
  redis = await startRedis();
  logged = [];
  const log = (text: string): void => void logged.push(text);
  link = await connectRedis(redis.url);
  store = await openSharedStore(redis.url, 'bmc-daemon', { info: log, warn: log, error: log });
});
afterEach(async () => {
  await store.close();
  link.close();
  await redis.stop();
});

const keys = ['revision', 'entries', 'changed'].map((name) => `{bmc-daemon}:${name}`);
const run = (script: string) => link.command(['EVAL', script, '3', ...keys]);
const put = (id: string) => store.commit([{ kind: 'k', id, value: { id } }]);
const ids = () => store.list('k').map(({ id }) => id);

it('a replica reloads its copy after Redis returned to an older state', async () => {
  await put('a');
  await put('b');
  // The script sets the state after the first change, as a lagging copy of Redis has it. It is one
  // step, so that no heartbeat sees a part of it.
  const older = `redis.call('SET', KEYS[1], '1') redis.call('HDEL', KEYS[2], 'k/b') redis.call('ZREM', KEYS[3], 'k/b')`;
  await run(older);
  await store.sync();
  expect(ids()).toEqual(['a']);
  expect(logged).toEqual(['the shared store has returned to an older state']);
  expect(await put('c')).toBe(true);
  expect(ids()).toEqual(['a', 'c']);
});

it('a replica reloads its copy if Redis lost changes and got others before the replica reconnected', async () => {
  await put('a');
  await put('b');
  // Another replica has already made a second change, so the revision is the one that this replica
  // knows.
  await run(`redis.call('HDEL', KEYS[2], 'k/b') redis.call('ZREM', KEYS[3], 'k/b')
redis.call('HSET', KEYS[2], 'k/c', '{}') redis.call('ZADD', KEYS[3], 2, 'k/c')`);
  await link.command(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  await waitFor(
    () => (ids().join() === 'a,c' ? true : undefined),
    () => `the copy has ${ids().join()}`,
  );
});

it('a replica reports which entries have changed, and after a loss, that all may have changed', async () => {
  const seen: unknown[] = [];
  store.onChange((changed) => void seen.push(changed));
  await put('a');
  await store.commit([{ kind: 'k', id: 'a', value: null }]);
  await run(`redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])`);
  await store.sync();
  const entry = { kind: 'k', id: 'a' };
  expect(seen).toEqual([[entry], [entry], null]);
});

it('a replica reads from a Redis that has no memory left, and logs once that Redis accepts no changes', async () => {
  await put('a');
  redis.pause();
  await expect(store.sync()).rejects.toThrow('does not answer');
  const memory = link.command(['CONFIG', 'SET', 'maxmemory', '1']);
  redis.resume();
  await memory;
  const oomWarnings = () => logged.filter((line) => line.startsWith('the shared store accepts no changes: OOM '));
  await waitFor(
    () => oomWarnings()[0],
    () => `no line about memory: ${logged.join('\n')}`,
  );
  await store.sync();
  expect(ids()).toEqual(['a']);
  await expect(put('b')).rejects.toThrow(/^the shared store rejects the command: OOM /);
  await link.command(['CONFIG', 'SET', 'maxmemory', '0']);
  await waitFor(
    () => logged.find((line) => line === 'the shared store accepts changes again'),
    () => `no line about changes: ${logged.join('\n')}`,
  );
  expect(oomWarnings()).toHaveLength(1);
});

it('a replica lets the store forget deleted entries even if many older entries still exist', async () => {
  const lasting = Array.from({ length: 2500 }, (_value, index) => ({ kind: 'k', id: `lasting-${index}`, value: {} }));
  await store.commit(lasting);
  const passing = Array.from({ length: 2100 }, (_value, index) => ({ kind: 'k', id: `passing-${index}` }));
  await store.commit(passing.map((change) => ({ ...change, value: null })));
  // The store knows 4,600 entries. With more than 2,000 deleted ones, it forgets 1,000 of them.
  expect(await run(`return redis.call('ZCARD', KEYS[3])`)).toBe(3600);
  await store.sync();
  expect(ids()).toHaveLength(2500);
});

it('a replica reads an entry that is not JSON without its value, reads the others, and logs only the key', async () => {
  await put('a');
  const foreign = `for revision, id in ipairs({'b', 'c'}) do
  redis.call('INCR', KEYS[1])
  redis.call('HSET', KEYS[2], 'k/' .. id, id == 'b' and 'secret' or '{}')
  redis.call('ZADD', KEYS[3], revision + 1, 'k/' .. id)
end`;
  await run(foreign);
  await store.sync();
  expect(store.list('k').map(({ id, value }) => [id, value])).toEqual([
    ['a', { id: 'a' }],
    ['b', undefined],
    ['c', {}],
  ]);
  expect(logged).toEqual(['the shared store has an entry that is not JSON: "k/b"']);
});

it('a replica considers no replica dead after a failure of the store until the store has answered again for some time', async () => {
  const livingReplicas = async () => [...(await store.living(['other']))];
  expect(await livingReplicas()).toEqual([]);
  redis.pause();
  await expect(store.sync()).rejects.toThrow('does not answer');
  redis.resume();
  await waitFor(
    () =>
      store.sync().then(
        () => true,
        () => undefined,
      ),
    () => 'the store does not answer again',
  );
  expect(await livingReplicas()).toEqual(['other']);
  await waitFor(
    async () => ((await livingReplicas()).length === 0 ? true : undefined),
    () => 'the other replica still counts as living',
  );
});
