/**
 * A Redis that is slow, rejects all commands, or does not speak its protocol: waits are bounded, and the store
 * recovers.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { openRedisStore } from '../../src/store/redis/redis-store.js';
import type { SharedKeyStore } from '../../src/store/store.js';
import { dayOf } from '../../src/store/usage.js';
import { waitFor } from '../harness/wait.js';
import { keyOf, put, readUsage, requestOf } from './samples.js';

/** How the relay changes the answers of Redis. */
type Mode =
  | { readonly kind: 'honest' }
  /** Each answer comes later. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Each command gets this answer, and does not reach Redis. */
  | { readonly kind: 'rejects'; readonly answer: string }
  /** Replaces what Redis sends. */
  | { readonly kind: 'replaces'; readonly bytes: string };

let redis: PrivateRedis;
let relay: Server;
let mode: Mode;
let store: SharedKeyStore;
let logged: string[];
const sockets = new Set<Socket>();

/** Counts the commands in a packet: each is a list of texts. The client sends whole commands. */
const commandsIn = (bytes: Buffer) => bytes.toString('latin1').match(/(?:^|\r\n)\*\d+\r\n\$/g)?.length ?? 0;

beforeEach(async () => {
  redis = await startRedis();
  mode = { kind: 'honest' };
  logged = [];
  relay = createServer((client) => {
    const upstream = connect(Number(new URL(redis.url).port), '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('data', (bytes: Buffer) => {
      if (mode.kind === 'rejects') client.write(mode.answer.repeat(commandsIn(bytes)));
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes: Buffer) => {
      if (mode.kind === 'slow') setTimeout(() => client.write(bytes), mode.ms);
      else client.write(mode.kind === 'replaces' ? mode.bytes : bytes);
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const add = (text: string) => void logged.push(text);
  const { port } = relay.address() as AddressInfo; // a TCP server has an AddressInfo
  store = await openRedisStore({
    url: `redis://127.0.0.1:${port}`,
    keepDays: null,
    log: { info: add, warn: add, error: add },
  });
  await put(store, 'k', keyOf());
});
afterEach(async () => {
  mode = { kind: 'honest' };
  await store.close();
  for (const socket of sockets) socket.destroy();
  relay.close();
  await redis.stop();
});

const until = (isReached: () => boolean, what: string) =>
  waitFor(
    async () => Promise.resolve(isReached() ? true : undefined),
    () => `${what}: ${logged.join('\n')}`,
  );

/** Changes a key. @returns the error, or undefined, and how long it took. */
async function change(id: string): Promise<{ readonly error: unknown; readonly ms: number }> {
  const startedAt = performance.now();
  const error: unknown = await put(store, id, keyOf()).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, ms: performance.now() - startedAt };
}

/** Checks the store after the end of a fault: it accepts changes, keeps its keys, and counts the one request once. */
async function expectRecovery(): Promise<void> {
  mode = { kind: 'honest' };
  await until(() => store.isAvailable, 'the store is not available again');
  await waitFor(
    async () => ((await change('later')).error === undefined ? true : undefined),
    () => `no change is possible: ${logged.join('\n')}`,
  );
  expect([...store.keys.keys()]).toEqual(expect.arrayContaining(['k', 'later']));
  const today = dayOf(Date.now());
  const rows = await readUsage(store, today, dayOf(Date.now() + 86_400_000));
  expect(rows.filter(({ subject }) => subject === 'key').map(({ requests }) => requests)).toEqual([1]);
}

describe('a store whose Redis', () => {
  it.each([
    ['is a cluster node without the key', '-MOVED 1234 192.0.2.1:6379'],
    ['reads its file', '-LOADING Redis is loading the dataset in memory'],
    ['is a replica', "-READONLY You can't write against a read only replica."],
    ['requires a password', '-NOAUTH Authentication required.'],
    ['has no memory left', "-OOM command not allowed when used memory > 'maxmemory'."],
    ['has another type', '-WRONGTYPE Operation against a key holding the wrong kind of value'],
    ['is busy with a script', '-BUSY Redis is busy running a script.'],
  ])('%s reports this in at most 3 lines, keeps the keys, and recovers', async (_what, answer) => {
    mode = { kind: 'rejects', answer: `${answer}\r\n` };
    store.addUsage(requestOf());
    const { error, ms } = await change('x');
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(String(error)).toContain(answer.slice(1));
    expect(ms).toBeLessThan(15_000);
    await until(() => !store.isAvailable, 'the store is available');
    expect(store.keys.has('k')).toBe(true);
    // During this time, the store sends at least two heartbeats.
    await new Promise((resolve) => setTimeout(resolve, 2200));
    expect(logged.length).toBeLessThanOrEqual(3);
    expect(logged.join('\n')).toContain(answer.slice(1));
    await expectRecovery();
  });

  it('answers after 1 s makes changes, and is available', async () => {
    mode = { kind: 'slow', ms: 1000 };
    store.addUsage(requestOf());
    const { error, ms } = await change('x');
    expect(error).toBeUndefined();
    expect(ms).toBeLessThan(20_000);
    expect(store.isAvailable).toBe(true);
    await expectRecovery();
  });

  it('answers after 5 s rejects changes in time, and recovers', async () => {
    mode = { kind: 'slow', ms: 5000 };
    store.addUsage(requestOf());
    const { error, ms } = await change('x');
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(ms).toBeLessThan(15_000);
    await until(() => !store.isAvailable, 'the store is available');
    expect(store.keys.has('k')).toBe(true);
    await expectRecovery();
  });

  it.each([
    ['garbage', '\u0085\u0000abc\r\n'],
    ['a page of a web server', 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'],
    ['half of a text', '$100\r\nabc'],
    ['half of a list', '*3\r\n$1\r\na\r\n'],
    ['nothing', ''],
    ['another type', '+OK\r\n'],
    ['an empty list', '*0\r\n'],
    ['a list of other values', '*6\r\n:1\r\n:2\r\n:3\r\n$1\r\nx\r\n*0\r\n:1\r\n'],
    ['no value', '$-1\r\n'],
    ['a huge number', '*4\r\n$1\r\ne\r\n:9223372036854775807\r\n:1\r\n:0\r\n'],
  ])('sends %s rejects changes in time, and recovers', async (_what, bytes) => {
    mode = { kind: 'replaces', bytes };
    store.addUsage(requestOf());
    const { error, ms } = await change('x');
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(ms).toBeLessThan(15_000);
    await until(() => !store.isAvailable, 'the store is available');
    expect(store.keys.has('k')).toBe(true);
    await expectRecovery();
  });
});
