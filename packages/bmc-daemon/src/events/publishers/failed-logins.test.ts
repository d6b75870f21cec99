import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ServiceEvent } from '../event-bus.js';
import { publishFailedLogins, type FailedLogins } from './failed-logins.js';

const minute = 60_000;
let time: number;
let timers: { readonly at: number; readonly call: () => void }[];
let published: ServiceEvent[];
let logins: FailedLogins;

beforeEach(() => {
  [time, timers, published] = [1_000, [], []];
  logins = publishFailedLogins({
    events: { publish: (event) => void published.push(event) },
    now: () => time,
    after: (ms, call) => {
      const waiting = { at: time + ms, call };
      timers.push(waiting);
      return () => void (timers = timers.filter((other) => other !== waiting));
    },
  });
});

const advanceClock = (ms: number): void => {
  time += ms;
  for (const { call } of timers.filter(({ at }) => at <= time)) call();
};
const guess = (account: string | null = 'admin', address = '192.0.2.1'): void =>
  logins.onRefused({ account, address, reason: 'wrong password' });
const details = () => published.map(({ detail }) => detail);

describe('a rejected login', () => {
  it('is an event with the account and the address, but without an unknown name', () => {
    guess();
    logins.onRefused({ account: null, address: '2001:db8::1', reason: 'unknown user' });
    expect(published).toEqual([
      {
        messageId: 'Base.1.22.AccessUnauthorized',
        messageArgs: [],
        severity: 'Warning',
        origin: '/redfish/v1/SessionService',
        system: null,
        actor: { user: null, address: '192.0.2.1' },
        time: expect.any(Date),
        detail: 'This service rejected a login as admin: wrong password.',
      },
      expect.objectContaining({ detail: 'This service rejected a login as an unknown user: unknown user.' }),
    ]);
  });

  it('is summarized with others every ten minutes, no matter how long a guesser continues', () => {
    for (let hour = 0; hour < 24; hour += 1) {
      for (let attempt = 0; attempt < 600; attempt += 1) {
        guess(attempt % 2 === 0 ? 'admin' : null, `192.0.2.${attempt % 3}`);
        advanceClock(6_000);
      }
    }
    // Ten single events, and then one event for a hundred attempts every ten minutes.
    expect(published.length).toBeLessThanOrEqual(10 + 24 * 6);
    expect(published.at(-1)).toMatchObject({
      actor: null,
      detail: 'This service rejected 100 more logins for one account from 3 addresses.',
    });
    logins.close();
    const counts = details().map((detail) => Number(/rejected (\d+)/.exec(detail ?? '')?.[1] ?? 1));
    expect(counts.reduce((sum, count) => sum + count)).toBe(24 * 600);
  });

  it('is reported in the next summary if it follows ten single events, or when the service ends', () => {
    for (let attempt = 0; attempt < 12; attempt += 1) guess();
    expect(published).toHaveLength(10);
    advanceClock(10 * minute);
    expect(published.at(-1)).toMatchObject({
      actor: { user: null, address: '192.0.2.1' },
      detail: 'This service rejected 2 more logins for one account from one address.',
    });
    guess();
    logins.close();
    expect(details().slice(11)).toEqual(['This service rejected one more login for one account from one address.']);
    expect(timers).toEqual([]);
    advanceClock(100 * minute);
    guess('root');
    expect(details().at(-1)).toBe('This service rejected a login as root: wrong password.');
  });
});
