import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { withDeadline } from './deadline.js';

describe('withDeadline', () => {
  const never = new Promise<never>(() => undefined);

  it('returns the result, or throws the error, of work that ends in time, and leaves no timer', async () => {
    jest.useFakeTimers();
    try {
      expect(await withDeadline(Promise.resolve('in time'), 1000, () => null)).toBe('in time');
      await expect(withDeadline(Promise.reject(new Error('broken')), 1000, () => null)).rejects.toThrow('broken');
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('returns a result that arrived at a socket in time, even if the process was blocked until after the deadline', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'rackless-deadline-'));
    const server = createServer().listen(path.join(folder, 'socket'));
    await once(server, 'listening');
    const client = connect(path.join(folder, 'socket'));
    // Node documents the arguments of both events.
    const [[peer]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [[Socket], unknown];
    try {
      const answer = once(client, 'data').then(([data]) => String(data));
      // After an immediate, Node runs timers first. So the deadline passes before Node reads the socket.
      await turn();
      peer.write('in time');
      const result = withDeadline(answer, 10, () => 'late');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      expect(await result).toBe('in time');
    } finally {
      client.destroy();
      peer.destroy();
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('returns the result, or throws the error, of `late` at the deadline, and ignores a later error of the work', async () => {
    expect(await withDeadline(never, 0, () => null)).toBeNull();
    const fail = (): never => {
      throw new Error('no answer');
    };
    await expect(withDeadline(never, 0, fail)).rejects.toThrow('no answer');
    let reject: (error: Error) => void = () => undefined;
    const work = new Promise<never>((_resolve, fails) => (reject = fails));
    expect(await withDeadline(work, 0, () => null)).toBeNull();
    // An unhandled rejection would end the process of the tests.
    reject(new Error('too late'));
  });
});
