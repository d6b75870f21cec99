import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isLibvirtError } from '../../src/errors.js';
import type { Link, LinkOptions } from '../../src/link/link.js';
import { openLink } from '../../src/link/open-link.js';
import { authProcedures } from '../../src/protocol/auth.js';
import { connectProcedures } from '../../src/protocol/connect.js';
import { domainProcedures } from '../../src/protocol/domain.js';
import { domainEvents } from '../../src/protocol/event.js';
import { KeepaliveProcedure, MessageStatus, MessageType, remoteError } from '../../src/protocol/message.js';
import { PROGRAM } from '../../src/protocol/procedure.js';
import { MAX_MESSAGE_BYTES } from '../../src/xdr.js';
import { int, string, struct } from '../../src/codec.js';
import { FakeClock } from '../fake/fake-clock.js';
import { eventMessage, FakeLibvirtd, HANG, message, Refusal, replyTo, virError } from '../fake/fake-libvirtd.js';
import { failureOf, until } from '../fake/until.js';

const { getHostname, getVersion, supportsFeature } = connectProcedures;
const domain = { name: 'vm', uuid: '00000000-0000-0000-0000-000000000001', id: -1 };

let fake: FakeLibvirtd;
const links: Link[] = [];

/** Opens a link to the fake libvirtd, which is closed after the test. */
function open(options: LinkOptions = {}): Link {
  const link = openLink(fake.uri, options);
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

describe('opening a connection', () => {
  it('authenticates, enables keepalive, opens the driver, then queries event support', async () => {
    const asked: unknown[] = [];
    fake.on(supportsFeature, (args) => {
      asked.push(args.feature);
      return 1;
    });
    fake.on(connectProcedures.open, (args) => {
      asked.push(args);
      return undefined;
    });
    await open().connected();
    expect(asked).toEqual([10, { name: 'test:///default', flags: 0 }, 14]);
    const expected = [authProcedures.list, supportsFeature, connectProcedures.open, supportsFeature];
    expect(fake.clients[0]?.calls).toEqual(expected.map(({ number }) => number));
  });

  it('authenticates with polkit if libvirtd requires it', async () => {
    let asked = 0;
    fake.on(authProcedures.list, () => [2]);
    fake.on(authProcedures.polkit, () => {
      asked += 1;
      return 1;
    });
    await open().connected();
    expect(asked).toBe(1);
  });

  it('fails with the error of polkit if polkit denies access', async () => {
    fake.on(authProcedures.list, () => [2]);
    fake.on(authProcedures.polkit, () => {
      throw new Refusal(45, 60, 'authentication failed: denied');
    });
    const error = await failureOf(open().connected({ retry: false }));
    expect(error).toMatchObject({
      code: 'NOT_CONNECTED',
      message: `connecting to ${fake.uri}: authentication failed: denied`,
      cause: { code: 'NOT_CONNECTED', cause: { code: 'AUTH_FAILED', domain: 'POLKIT', procedure: 'authPolkit' } },
    });
  });

  it('rejects a libvirtd that requires an unknown authentication', async () => {
    fake.on(authProcedures.list, () => [9]);
    const error = await failureOf(open().connected({ retry: false }));
    expect(error).toMatchObject({ code: 'NOT_CONNECTED', cause: { code: 'AUTH_UNSUPPORTED' } });
  });

  it('rejects a libvirtd without event callbacks', async () => {
    fake.on(supportsFeature, (args) => (args.feature === 14 ? 0 : 1));
    const error = await failureOf(open().connected({ retry: false }));
    expect(error).toHaveProperty('message', expect.stringContaining('too old'));
  });

  it('tries no other socket if the socket of the URI fails', async () => {
    await fake.stopListening();
    const error = await failureOf(open().connected({ retry: false }));
    expect(error).toMatchObject({
      code: 'NOT_CONNECTED',
      message: `connecting to ${fake.uri}: connect ENOENT ${fake.socket}`,
    });
  });
});

describe('a call', () => {
  it('gets its reply, even if replies arrive in another order', async () => {
    const answers: (() => void)[] = [];
    fake.on(domainProcedures.lookupByName, (args) => {
      return new Promise((resolve) => answers.push(() => resolve({ ...domain, name: args.name })));
    });
    const link = open();
    const calls = ['a', 'b', 'c'].map((name) => link.call(domainProcedures.lookupByName, { name }));
    await until('three calls', () => answers.length === 3);
    for (const answer of answers.reverse()) answer();
    expect((await Promise.all(calls)).map((each) => each.name)).toEqual(['a', 'b', 'c']);
  });

  it('does not time out if only this process is blocked for longer than the timeout', async () => {
    fake.on(getHostname, () => 'host');
    const link = open();
    await link.connected();
    const timeoutMs = 2000;
    // The loop below blocks this process, so the call is sent only after twice its timeout.
    const answer = link.call(getHostname, undefined, { timeoutMs });
    for (const end = performance.now() + 2 * timeoutMs; performance.now() < end;);
    expect(await answer).toBe('host');
  });

  it('times out if libvirtd is silent after this process was blocked', async () => {
    fake.on(getHostname, () => HANG);
    const link = open();
    await link.connected();
    const timeoutMs = 100;
    const answer = link.call(getHostname, undefined, { timeoutMs });
    for (const end = performance.now() + 3 * timeoutMs; performance.now() < end;);
    expect(await failureOf(answer)).toMatchObject({ code: 'CALL_TIMEOUT' });
  });

  it('fails with the error of libvirtd, with the names of its error code and its error domain', async () => {
    fake.on(getHostname, () => {
      throw new Refusal(42, 10, 'Domain not found: no such thing');
    });
    const error = await failureOf(open().call(getHostname, undefined));
    expect(error).toMatchObject({
      name: 'LibvirtError',
      message: 'Domain not found: no such thing',
      code: 'NO_DOMAIN',
      codeNumber: 42,
      domain: 'QEMU',
      domainNumber: 10,
      level: 'ERROR',
      procedure: 'connectGetHostname',
      isRemote: true,
      mayHaveRun: true,
      str1: 'Domain not found: no such thing',
    });
  });

  it('fails with the numbers of an error code and a domain that the client does not know', async () => {
    fake.on(getHostname, () => {
      throw new Refusal(9001, 9002, 'new');
    });
    const error = await failureOf(open().call(getHostname, undefined));
    expect(error).toMatchObject({ code: 'UNKNOWN_9001', codeNumber: 9001, domain: 'UNKNOWN_9002' });
  });

  it('fails with NO_SUPPORT if libvirtd does not know the procedure, and the connection remains open', async () => {
    const link = open();
    const error = await failureOf(link.call(getVersion, undefined));
    expect(error).toMatchObject({ code: 'NO_SUPPORT', domain: 'RPC', message: 'unknown procedure: 4' });
    fake.on(getHostname, () => 'host');
    await expect(link.call(getHostname, undefined)).resolves.toBe('host');
    expect(fake.everyClient).toHaveLength(1);
  });

  it('accepts a reply that arrives byte by byte', async () => {
    fake.on(getHostname, (_args, call) => {
      void (async () => {
        for (const byte of replyTo(getHostname, call.serial, 'slow-host')) {
          call.client.write(Buffer.from([byte]));
          await nextTurn();
        }
      })();
      return HANG;
    });
    await expect(open().call(getHostname, undefined)).resolves.toBe('slow-host');
  });

  it('ignores replies with other serial numbers', async () => {
    fake.on(getHostname, (_args, call) => {
      call.client.write(replyTo(getHostname, call.serial + 100, 'stranger'));
      call.client.write(replyTo(getHostname, 0, 'unknown'));
      return 'host';
    });
    const link = open();
    await expect(link.call(getHostname, undefined)).resolves.toBe('host');
    expect(link.state).toBe('connected');
  });

  it('succeeds after messages of unexpected or unknown types, which the client ignores', async () => {
    const link = open();
    await link.connected();
    for (const type of [MessageType.call, MessageType.stream, 4, 6, 77]) {
      const header = { program: PROGRAM.remote, procedure: 1, type, serial: 1, status: MessageStatus.ok };
      fake.clients[0]?.write(message(header, remoteError, virError(1, 1, 'x')));
    }
    fake.on(getHostname, () => 'host');
    await expect(link.call(getHostname, undefined)).resolves.toBe('host');
  });

  it('fails with PROTOCOL if the reply is malformed or for another procedure; the connection remains open', async () => {
    const link = open();
    const bad = [
      (serial: number) => replyTo(getVersion, serial, 5),
      (serial: number) => replyTo({ ...getHostname, result: struct({ a: string, b: int }) }, serial, { a: 'x', b: 1 }),
      (serial: number) => replyTo({ ...getHostname, result: int }, serial, 1_000_000),
    ];
    for (const answer of bad) {
      fake.on(getHostname, (_args, call) => {
        call.client.write(answer(call.serial));
        return HANG;
      });
      const error = await failureOf(link.call(getHostname, undefined));
      expect(error).toMatchObject({ code: 'PROTOCOL', procedure: 'connectGetHostname', mayHaveRun: true });
    }
    expect(fake.everyClient).toHaveLength(1);
  });

  it('fails with PROTOCOL and is not sent if its arguments cannot be encoded', async () => {
    const link = open();
    await link.connected();
    const good = link.call(connectProcedures.getVersion, undefined).catch((error: unknown) => error);
    const error = await failureOf(link.call(domainProcedures.lookupByUuid, { uuid: 'not one' }));
    expect(error).toMatchObject({
      code: 'PROTOCOL',
      mayHaveRun: false,
      message: expect.stringContaining('"not one" is not a UUID'),
    });
    // The incomplete message did not damage the previous message.
    await expect(good).resolves.toMatchObject({ code: 'NO_SUPPORT' });
  });

  it('is rejected and not sent if it exceeds 32 MiB', async () => {
    const link = open();
    await link.connected();
    const name = 'x'.repeat(MAX_MESSAGE_BYTES);
    await expect(link.call(domainProcedures.lookupByName, { name })).rejects.toMatchObject({
      code: 'PROTOCOL',
      mayHaveRun: false,
    });
    expect(link.state).toBe('connected');
  });

  it('fails if libvirtd sends a message over 32 MiB, and the client connects again', async () => {
    fake.on(getHostname, (_args, call) => {
      const bytes = replyTo(getHostname, call.serial, 'x');
      bytes.writeUInt32BE(MAX_MESSAGE_BYTES + 1, 0);
      call.client.write(bytes);
      return HANG;
    });
    const link = open();
    const error = await failureOf(link.call(getHostname, undefined));
    expect(error).toMatchObject({ code: 'PROTOCOL', message: expect.stringContaining('message of 33554433 bytes') });
    await until('a new connection', () => fake.everyClient.length === 2);
  });
});

describe('the abort of a call', () => {
  beforeEach(() => {
    fake.on(getHostname, () => HANG);
  });

  it('at its timeout does not close the connection', async () => {
    fake.on(getVersion, () => 9);
    const link = open();
    await link.connected();
    const error = await failureOf(link.call(getHostname, undefined, { timeoutMs: 20 }));
    expect(error).toMatchObject({
      code: 'CALL_TIMEOUT',
      domain: 'CLIENT',
      codeNumber: -1,
      isRemote: false,
      mayHaveRun: true,
      message: `calling connectGetHostname: no answer from ${fake.uri} within 20 ms`,
    });
    await expect(link.call(getVersion, undefined)).resolves.toBe(9);
    expect(fake.everyClient).toHaveLength(1);
  });

  it('happens at the timeout of this call, even if other calls have other timeouts or none', async () => {
    const clock = new FakeClock();
    const link = open({ clock });
    await link.connected();
    const order: number[] = [];
    const calls = [60, 20, 40, Infinity].map((timeoutMs) =>
      link.call(getHostname, undefined, { timeoutMs }).catch(() => {
        order.push(timeoutMs);
      }),
    );
    clock.advance(19);
    await nextTurn();
    expect(order).toEqual([]);
    clock.advance(1);
    await calls[1];
    clock.advance(20);
    await calls[2];
    clock.advance(20);
    await calls[0];
    clock.advance(4_000);
    await nextTurn();
    expect(order).toEqual([20, 40, 60]);
  });

  it('makes the client ignore a late reply', async () => {
    let answer: () => void = () => undefined;
    fake.on(getHostname, () => new Promise((resolve) => (answer = () => resolve('late'))));
    fake.on(getVersion, () => 9);
    const clock = new FakeClock();
    const link = open({ clock });
    await link.connected();
    const failure = failureOf(link.call(getHostname, undefined, { timeoutMs: 20 }));
    await until('the call', () => fake.clients[0]?.calls.includes(getHostname.number) === true);
    clock.advance(20);
    expect(await failure).toMatchObject({ code: 'CALL_TIMEOUT' });
    answer();
    await expect(link.call(getVersion, undefined)).resolves.toBe(9);
  });

  it('by a signal ends a running call, rejects a later one, and does not change a completed one', async () => {
    fake.on(getVersion, () => 9);
    const link = open();
    await link.connected();
    const controller = new AbortController();
    const running = link.call(getHostname, undefined, { signal: controller.signal });
    const done = link.call(getVersion, undefined, { signal: controller.signal });
    await expect(done).resolves.toBe(9);
    controller.abort(new Error('changed my mind'));
    await expect(running).rejects.toMatchObject({
      code: 'CALL_ABORTED',
      mayHaveRun: true,
      cause: { message: 'changed my mind' },
    });
    const late = link.call(getHostname, undefined, { signal: controller.signal });
    await expect(late).rejects.toMatchObject({ code: 'CALL_ABORTED', mayHaveRun: false });
  });

  it('by a signal that many calls share ends all of them', async () => {
    const link = open();
    await link.connected();
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Array.from({ length: 50 }, () => failureOf(link.call(getHostname, undefined, { signal })));
    const work = Array.from({ length: 50 }, () =>
      failureOf(link.work(domain.uuid, getHostname, undefined, { signal })),
    );
    // The client opened this connection with four calls, and 50 follow. The calls of `work` use another connection.
    await until('the calls', () => fake.clients[0]?.calls.length === 54);
    controller.abort();
    const errors = await Promise.all([...calls, ...work]);
    expect(errors.every((error) => isLibvirtError(error, 'CALL_ABORTED'))).toBe(true);
  });

  it('by closing the link rejects all running and later calls at once', async () => {
    const link = open();
    await link.connected();
    const calls = Array.from({ length: 10 }, () => failureOf(link.call(getHostname, undefined)));
    const work = Array.from({ length: 10 }, () => failureOf(link.work(domain.uuid, getHostname, undefined)));
    await until('work to begin', () => fake.everyClient.length === 2);
    await link.close();
    for (const error of await Promise.all([...calls, ...work])) expect(isLibvirtError(error, 'LINK_CLOSED')).toBe(true);
    await expect(link.call(getHostname, undefined)).rejects.toMatchObject({ code: 'LINK_CLOSED' });
    await expect(link.work(null, getHostname, undefined)).rejects.toMatchObject({ code: 'LINK_CLOSED' });
    await expect(link.connected()).rejects.toMatchObject({ code: 'LINK_CLOSED' });
    expect(link.state).toBe('closed');
    await until('every connection to close', () => fake.clients.length === 0);
  });
});

describe('keepalive', () => {
  it('answers PINGs of libvirtd', async () => {
    await open().connected();
    fake.clients[0]?.keepalive(KeepaliveProcedure.ping);
    await until('a pong', () => fake.clients[0]?.pongs === 1);
  });

  it("rejects all calls if libvirtd does not answer the client's PINGs", async () => {
    fake.on(getHostname, () => HANG);
    fake.answersPings = false;
    const clock = new FakeClock();
    const link = open({ clock, keepalive: { intervalMs: 20, count: 2 } });
    await link.connected();
    const calls = Array.from({ length: 8 }, () => failureOf(link.call(getHostname, undefined)));
    // The client sends no PING after the first of the three intervals, because it received data in that interval.
    clock.advance(60);
    await until('two pings', () => fake.everyClient[0]?.pings === 2);
    clock.advance(20);
    const errors = await Promise.all(calls);
    for (const error of errors) {
      expect(error).toMatchObject({
        code: 'CONNECTION_LOST',
        mayHaveRun: true,
        message: expect.stringContaining('libvirtd has been silent for 0.06 s'),
      });
    }
    expect(fake.everyClient[0]?.pings).toBe(2);
  });

  it('does not close an idle connection if libvirtd answers PINGs', async () => {
    const link = open({ keepalive: { intervalMs: 10, count: 20 } });
    await link.connected();
    // A silent libvirtd would get only 20 PINGs.
    await until('many pings', () => (fake.everyClient[0]?.pings ?? 0) > 25);
    expect(link.state).toBe('connected');
    expect(fake.everyClient).toHaveLength(1);
  });
});

describe('events', () => {
  const lifecycle = { callbackId: 1, domain, event: 2, detail: 0 };

  it('reach each listener until it is removed', async () => {
    const link = open();
    const seen: string[] = [];
    const remove = link.onEvent(domainEvents.lifecycle, (event) => seen.push(`a${event.detail}`));
    link.onEvent(domainEvents.lifecycle, (event) => seen.push(`b${event.detail}`));
    await link.connected();
    fake.emit(domainEvents.lifecycle, lifecycle);
    fake.emit(domainEvents.reboot, { callbackId: 1, domain });
    await until('one event', () => seen.length === 2);
    remove();
    fake.emit(domainEvents.lifecycle, { ...lifecycle, detail: 1 });
    await until('another event', () => seen.length === 3);
    expect(seen).toEqual(['a0', 'b0', 'b1']);
  });

  it('are delivered in order with the replies of the same write', async () => {
    const link = open();
    const order: string[] = [];
    link.onEvent(domainEvents.lifecycle, (event) => order.push(`event ${event.detail}`));
    fake.on(getHostname, (_args, call) => {
      call.client.write(
        Buffer.concat([
          eventMessage(domainEvents.lifecycle, { ...lifecycle, detail: 1 }),
          replyTo(getHostname, call.serial, 'host'),
          eventMessage(domainEvents.lifecycle, { ...lifecycle, detail: 2 }),
          eventMessage(domainEvents.lifecycle, { ...lifecycle, detail: 3 }),
        ]),
      );
      return HANG;
    });
    await link.connected();
    // `deep` returns a chain of promises. The events after the reply must wait for the last promise of the chain.
    const deep = async (depth: number): Promise<string> =>
      depth === 0 ? link.call(getHostname, undefined) : await deep(depth - 1);
    order.push(await deep(10));
    await until('the last event', () => order.length === 4);
    expect(order).toEqual(['event 1', 'host', 'event 2', 'event 3']);
  });

  it('cause a warning if they are malformed, and the connection stays open', async () => {
    const warnings: Error[] = [];
    const link = open({ onWarning: (error) => warnings.push(error) });
    link.onEvent(domainEvents.lifecycle, () => undefined);
    await link.connected();
    fake.emit({ ...domainEvents.lifecycle, event: int }, 5);
    await until('a warning', () => warnings.length >= 1);
    expect(warnings[0]?.message).toBe('reading the event domainEventLifecycle: malformed message');
    expect(link.state).toBe('connected');
  });
});
