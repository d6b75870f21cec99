import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '../test/fake/fake-clock.js';
import { Keepalive } from './keepalive.js';

/** Starts a keepalive with an interval of 1 s and at most 3 PINGs. `log` gets PINGs and the report of a dead peer. */
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
  it('sends `count` PINGs to a silent peer, then reports the peer dead', () => {
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

  it('accepts any received data as an answer to its PINGs', () => {
    const { clock, keepalive, log } = setUp();
    for (let round = 0; round < 5; round += 1) {
      clock.advance(3000);
      keepalive.onReceive();
    }
    expect(log.filter((entry) => entry !== 'ping')).toEqual([]);
  });

  it('does nothing after `stop`, and has only one timer after two calls of `start`', () => {
    const { clock, keepalive, log } = setUp();
    keepalive.stop();
    clock.advance(60_000);
    expect(log).toEqual([]);
    keepalive.start();
    keepalive.start();
    expect(clock.pending).toBe(1);
  });
});
