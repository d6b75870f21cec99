import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Caller } from '../../src/caller.js';
import type { Link, LinkOptions, LinkState } from '../../src/link/link.js';
import { openLink } from '../../src/link/open-link.js';
import { authProcedures } from '../../src/protocol/auth.js';
import { connectProcedures } from '../../src/protocol/connect.js';
import { domainEvents, eventProcedures } from '../../src/protocol/event.js';
import { FakeClock } from '../fake/fake-clock.js';
import { FakeLibvirtd, HANG, Refusal } from '../fake/fake-libvirtd.js';
import { failureOf, until } from '../fake/until.js';

const { getHostname, supportsFeature } = connectProcedures;
const { callbackRegisterAny } = eventProcedures;
const domain = { name: 'vm', uuid: '00000000-0000-0000-0000-000000000001', id: -1 };
/** Waits until the next attempt is scheduled. During an attempt, its timeout is the only timer. */
const nextAttempt = (clock: FakeClock): Promise<void> =>
  until('the next attempt to be scheduled', () => clock.pending === 1 && clock.upcoming[0] !== 10_000);
const quick = { firstMs: 5, maxMs: 20 };

let fake: FakeLibvirtd;
const links: Link[] = [];

/** Opens a link that is closed after the test. By default, the pauses between its attempts are short. */
function open(options: LinkOptions = {}): Link {
  const link = openLink(fake.uri, { backoff: quick, ...options });
  links.push(link);
  return link;
}

beforeEach(async () => {
  fake = await FakeLibvirtd.start();
});
afterEach(async () => {
  await Promise.all(links.splice(0).map((link) => link.close()));
  await fake.stop();
});

describe('a link', () => {
  it('rejects all running calls when it loses its connection, and connects again', async () => {
    fake.on(getHostname, () => HANG);
    const link = open();
    const states: LinkState[] = [];
    link.onStateChange((state) => states.push(state));
    await link.connected();
    const calls = Array.from({ length: 20 }, () => failureOf(link.call(getHostname, undefined)));
    // The client opened the connection with four calls. 20 calls of the test follow.
    await until('the calls to arrive', () => fake.clients[0]?.calls.length === 24);
    fake.clients[0]?.drop();
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({
        code: 'CONNECTION_LOST',
        procedure: 'connectGetHostname',
        mayHaveRun: true,
        message: `calling connectGetHostname: connection to ${fake.uri}: closed by libvirtd`,
      });
    }
    expect(link.lastError).toMatchObject({ code: 'CONNECTION_LOST' });
    fake.on(getHostname, () => 'back');
    await expect(link.call(getHostname, undefined)).resolves.toBe('back');
    expect(link.lastError).toBeNull();
    expect(states).toEqual(['connected', 'connecting', 'connected']);
  });

  it('lets calls wait for the next connection', async () => {
    fake.on(getHostname, () => 'here');
    await fake.stopListening();
    const link = open();
    const calls = Array.from({ length: 10 }, () => link.call(getHostname, undefined));
    await until('a failed attempt', () => link.lastError !== null);
    await fake.listen();
    await expect(Promise.all(calls)).resolves.toEqual(Array.from({ length: 10 }, () => 'here'));
  });

  it('rejects waiting calls at their timeout with the last error', async () => {
    const clock = new FakeClock();
    await fake.stopListening();
    const link = open({ clock });
    await until('a failed attempt', () => link.lastError !== null);
    const waiting = [
      link.call(getHostname, undefined, { timeoutMs: 50 }),
      link.work(domain.uuid, getHostname, undefined, { timeoutMs: 50 }),
      link.query(domain.uuid, getHostname, undefined, { timeoutMs: 50 }),
      link.openStream(getHostname, undefined, { timeoutMs: 50 }),
    ].map(failureOf);
    // The connections for `work` and `query` have no error of their own yet, so their calls report the error of the
    // control connection.
    clock.advance(50);
    for (const error of await Promise.all(waiting)) {
      expect(error).toMatchObject({
        code: 'NOT_CONNECTED',
        mayHaveRun: false,
        message: `calling connectGetHostname: not connected: connecting to ${fake.uri}: connect ENOENT ${fake.socket}`,
        cause: { code: 'NOT_CONNECTED' },
      });
    }
  });

  it('lets a signal abort a waiting call', async () => {
    await fake.stopListening();
    const link = open();
    const signal = AbortSignal.timeout(20);
    await expect(link.call(getHostname, undefined, { signal })).rejects.toMatchObject({
      code: 'CALL_ABORTED',
      mayHaveRun: false,
    });
  });

  it('ends an attempt that gets no answer, reports its timeout, and tries again', async () => {
    fake.on(connectProcedures.open, () => HANG);
    const clock = new FakeClock();
    const link = open({ clock, connectTimeoutMs: 200, backoff: quick });
    const waiting = failureOf(link.connected({ retry: false, timeoutMs: 5000 }));
    await until('the attempt', () => fake.clients[0]?.calls.includes(connectProcedures.open.number) === true);
    clock.advance(200);
    expect(await waiting).toMatchObject({
      code: 'NOT_CONNECTED',
      message: `connecting to ${fake.uri}: no answer within 200 ms`,
    });
    fake.on(connectProcedures.open, () => undefined);
    await nextAttempt(clock);
    clock.advance(quick.maxMs);
    await link.connected();
    await until('the abandoned connections to close', () => fake.clients.length === 1);
  });

  it('tries again with growing pauses, which start over after a stable connection', async () => {
    const clock = new FakeClock();
    await fake.stopListening();
    const link = open({ clock, random: () => 0, backoff: { firstMs: 100, maxMs: 1000 } });
    const waits: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await nextAttempt(clock);
      const [wait = 0] = clock.upcoming;
      waits.push(wait);
      clock.advance(wait);
    }
    expect(waits).toEqual([50, 100, 200, 400, 500, 500]);
    await nextAttempt(clock);
    await fake.listen();
    clock.advance(500);
    await until('the connection', () => link.state === 'connected');
    // A loss soon after the connect continues the back-off. A later loss restarts it.
    for (const [lastedMs, wait] of [
      [0, 500],
      [6_000, 50],
    ] as const) {
      clock.advance(lastedMs);
      const before = fake.everyClient.length;
      fake.clients[0]?.drop();
      await until('the loss of the connection', () => link.state === 'connecting');
      expect(clock.upcoming[0]).toBe(wait);
      clock.advance(wait);
      await until('the connection', () => link.state === 'connected');
      expect(fake.everyClient.length).toBe(before + 1);
    }
  });

  it('tries again after half of the pause and a random share of the other half', async () => {
    const clock = new FakeClock();
    await fake.stopListening();
    open({ clock, random: () => 0.5, backoff: { firstMs: 100, maxMs: 1000 } });
    await nextAttempt(clock);
    expect(clock.upcoming).toEqual([75]);
  });

  it('does not try again after its close', async () => {
    const clock = new FakeClock();
    const link = open({ clock });
    await link.connected();
    await link.close();
    await until('the connection to close', () => fake.clients.length === 0);
    clock.advance(60_000);
    expect(clock.pending).toBe(0);
    expect(fake.everyClient).toHaveLength(1);
  });

  it('closes without waiting for an attempt that gets no answer', async () => {
    fake.on(connectProcedures.open, () => HANG);
    const link = open();
    const waiting = failureOf(link.connected());
    await until('the attempt', () => fake.clients[0]?.calls.includes(connectProcedures.open.number) === true);
    await link.close();
    expect(await waiting).toMatchObject({ code: 'LINK_CLOSED' });
    await until('the attempt to end', () => fake.clients.length === 0);
    expect(link.state).toBe('closed');
  });
});

describe('a connection hook', () => {
  it('runs again after each loss, before the client sends waiting calls', async () => {
    fake.on(callbackRegisterAny, (args) => args.eventId + 10);
    fake.on(getHostname, () => 'host');
    const link = open();
    const seen: number[] = [];
    link.onEvent(domainEvents.lifecycle, (event) => seen.push(event.detail));
    const callbackIds: number[] = [];
    const hook = link.onConnected(async (connection) => {
      callbackIds.push(await connection.call(callbackRegisterAny, { eventId: 0, domain: null }));
    });
    await hook.ready;
    await link.connected();
    for (let round = 1; round <= 5; round += 1) {
      fake.clients[0]?.drop();
      await until('the loss of the connection', () => link.state === 'connecting');
      await link.call(getHostname, undefined);
      const calls = fake.everyClient.at(-1)?.calls;
      // The client opens the connection, then runs the hook, then sends the waiting call.
      const opening = [authProcedures.list, supportsFeature, connectProcedures.open, supportsFeature];
      expect(calls).toEqual([...opening, callbackRegisterAny, getHostname].map(({ number }) => number));
      fake.emit(domainEvents.lifecycle, { callbackId: 10, domain, event: 2, detail: round });
      await until('the event', () => seen.length === round);
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(callbackIds).toEqual([10, 10, 10, 10, 10, 10]);
  });

  it('runs again on the next connection if the connection is lost while it runs', async () => {
    let drops = 3;
    fake.on(callbackRegisterAny, (_args, call) => {
      drops -= 1;
      if (drops < 0) return 1;
      call.client.drop();
      return HANG;
    });
    const link = open();
    const hook = link.onConnected(async (connection) => {
      await connection.call(callbackRegisterAny, { eventId: 0, domain: null });
    });
    await hook.ready;
    await link.connected();
    expect(fake.everyClient).toHaveLength(4);
  });

  it('runs again on the next connection if libvirtd does not answer its call', async () => {
    let answers = true;
    fake.on(callbackRegisterAny, () => (answers ? 1 : HANG));
    const warnings: Error[] = [];
    const link = open({ callTimeoutMs: 50, onWarning: (error) => warnings.push(error) });
    let registered = 0;
    const hook = link.onConnected(async (connection) => {
      await connection.call(callbackRegisterAny, { eventId: 0, domain: null });
      registered += 1;
    });
    await hook.ready;
    await link.connected();
    answers = false;
    fake.clients[0]?.drop();
    await until('the attempt that gets no answer', () => (link.lastError?.message ?? '').includes('within 50 ms'));
    answers = true;
    await link.connected();
    expect(registered).toBe(2);
    expect(warnings).toEqual([]);
  });

  it('runs only once if it is added while the link connects', async () => {
    fake.on(callbackRegisterAny, () => 1);
    const register = async (connection: Caller): Promise<void> => {
      await connection.call(callbackRegisterAny, { eventId: 0, domain: null });
    };
    // Several promise callbacks run between the end of the first hook and `connected`. Each round adds
    // the second hook in another one of them.
    for (let turns = 0; turns < 30; turns += 1) {
      const link = open();
      await link.onConnected(register).ready;
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await link.onConnected(register).ready;
      await link.connected();
      await link.close();
    }
    expect(
      fake.everyClient.map(({ calls }) => calls.filter((number) => number === callbackRegisterAny.number).length),
    ).toEqual(Array.from({ length: 30 }, () => 2));
  });

  it('rejects with the error of its first run, keeps the connection open, and does not run again', async () => {
    fake.on(callbackRegisterAny, () => {
      throw new Refusal(3, 10, 'this function is not supported');
    });
    const link = open();
    await link.connected();
    const hook = link.onConnected(async (connection) => {
      await connection.call(callbackRegisterAny, { eventId: 99, domain: null });
    });
    expect(await failureOf(hook.ready)).toMatchObject({ code: 'NO_SUPPORT' });
    expect(link.state).toBe('connected');
    fake.clients[0]?.drop();
    await until('the loss of the connection', () => link.state === 'connecting');
    await link.connected();
    expect(fake.everyClient.at(-1)?.calls).not.toContain(callbackRegisterAny.number);
  });

  it('causes a warning if it fails in a later run', async () => {
    fake.on(callbackRegisterAny, () => 1);
    const warnings: Error[] = [];
    const link = open({ onWarning: (error) => warnings.push(error) });
    const hook = link.onConnected(async (connection) => {
      await connection.call(callbackRegisterAny, { eventId: 0, domain: null });
    });
    await hook.ready;
    await link.connected();
    fake.on(callbackRegisterAny, () => {
      throw new Refusal(1, 10, 'not now');
    });
    fake.clients[0]?.drop();
    await until('the loss of the connection', () => link.state === 'connecting');
    await link.connected();
    expect(warnings.map((warning) => warning.cause)).toEqual([expect.objectContaining({ message: 'not now' })]);
  });

  it('does not run after it is removed', async () => {
    fake.on(callbackRegisterAny, () => 1);
    const link = open();
    const hook = link.onConnected(async (connection) => {
      await connection.call(callbackRegisterAny, { eventId: 0, domain: null });
    });
    await hook.ready;
    await link.connected();
    hook.remove();
    fake.clients[0]?.drop();
    await until('the loss of the connection', () => link.state === 'connecting');
    await link.connected();
    expect(fake.everyClient.at(-1)?.calls).not.toContain(callbackRegisterAny.number);
  });

  it('rejects if the link is closed before its first run', async () => {
    await fake.stopListening();
    const link = open();
    const hook = link.onConnected(() => Promise.resolve());
    await link.close();
    expect(await failureOf(hook.ready)).toMatchObject({ code: 'LINK_CLOSED' });
  });
});
