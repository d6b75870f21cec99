import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '../test/fake/fake-clock.js';
import { Keepalive } from './keepalive.js';

function setUp(): { clock: FakeClock; keepalive: Keepalive; log: string[] } {
  const clock = new FakeClock();
  const log: string[] = [];
  const keepalive = new Keepalive(
    clock,
    { intervalMs: 1000, count: 3 },
    () => log.push('ping'),
    (silentMs) => log.push(`dead after ${silentMs}`),
  );
  keepalive.start();
  return { clock, keepalive, log };
}

describe('keepalive', () => {
  it('sends `count` PINGs to a silent peer, then reports it dead', () => {
    const { clock, log } = setUp();
    clock.advance(10_000);
    expect(log).toEqual(['ping', 'ping', 'ping', 'dead after 4000']);
    expect(clock.pending).toBe(0);
  });

  it('sends no PING to a peer that sends data', () => {
    const { clock, keepalive, log } = setUp();
    for (let second = 0; second < 10; second += 1) {
      keepalive.onReceive();
      clock.advance(1000);
    }
    expect(log).toEqual([]);
  });

  it('accepts any data as an answer', () => {
    const { clock, keepalive, log } = setUp();
    for (let round = 0; round < 5; round += 1) {
      clock.advance(3000);
      keepalive.onReceive();
    }
    expect(log.filter((entry) => entry !== 'ping')).toEqual([]);
  });

  it('stops its timer, and restarts with one timer', () => {
    const { clock, keepalive, log } = setUp();
    keepalive.stop();
    clock.advance(60_000);
    expect(log).toEqual([]);
    keepalive.start();
    keepalive.start();
    expect(clock.pending).toBe(1);
  });
});
