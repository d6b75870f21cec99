import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startRedis, type PrivateRedis } from '../../test/support/redis.js';
import { connectRedis, type RedisLink } from './redis-link.js';

describe('a link to Redis', () => {
  let redis: PrivateRedis;
  let between: Server;
  let link: RedisLink | undefined;
  /** The link gets this text in place of all that Redis sends; undefined: the link gets what Redis sends. */
  let broken: string | undefined;
  const sockets = new Set<Socket>();

  beforeEach(async () => {
    redis = await startRedis();
    broken = undefined;
    between = createServer((client) => {
      const upstream = connect(Number(new URL(redis.url).port), '127.0.0.1');
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
      }
      client.pipe(upstream);
      upstream.on('data', (data) => client.write(broken ?? data));
      upstream.on('close', () => client.destroy());
      client.on('close', () => upstream.destroy());
    }).listen(0, '127.0.0.1');
    await once(between, 'listening');
  });

  afterEach(async () => {
    link?.close();
    for (const socket of sockets) socket.destroy();
    between.close();
    await redis.stop();
  });

  it.each([
    ['a text without an end', '$999999999\r\nabc'],
    ['a list without an end', '*4294967295\r\n:1\r\n'],
    ['nothing', ''],
    ['an unknown type', '\u0085abc'],
  ])(
    'connects again and keeps its subscriptions after Redis sent %s',
    async (_, sent) => {
      const { port } = between.address() as AddressInfo; // a TCP server has an AddressInfo
      const made = await connectRedis(`redis://127.0.0.1:${port}`, 300);
      link = made;
      const messages: string[] = [];
      await made.subscribe('news', (message) => messages.push(message));
      let reconnections = 0;
      made.onReconnect(() => (reconnections += 1));

      broken = sent;
      await expect(made.command(['GET', 'a'])).rejects.toThrow('the shared store does not answer');
      await made.subscribe('more', () => undefined).catch(() => undefined);
      broken = undefined;

      const answer = async (words: string[]) => await made.command(words).catch(() => undefined);
      await until(async () => (await answer(['SET', 'a', '1'])) === 'OK');
      expect(await made.command(['GET', 'a'])).toBe('1');
      expect(reconnections).toBeGreaterThan(0);
      await until(async () => {
        await answer(['PUBLISH', 'news', 'hello']);
        return messages.includes('hello');
      });
    },
    60_000,
  );
});

/** Waits until the check is true. @throws {Error} if it is still false after 30 s. */
async function until(check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await check())) {
    if (Date.now() > end) throw new Error('the check never became true');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
