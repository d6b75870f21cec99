import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CallOptions, type DomainEvent, Hypervisor, LibvirtError } from '../../src/index.js';
import { failureOf, until } from '../fake/until.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { virsh } from '../harness/virsh.js';

const open: Hypervisor[] = [];
const connect = async (daemon: PrivateLibvirtd, options = {}): Promise<Hypervisor> => {
  const hypervisor = await Hypervisor.open(daemon.uri, { backoff: { firstMs: 10, maxMs: 50 }, ...options });
  open.push(hypervisor);
  return hypervisor;
};
const closeAll = (): Promise<unknown> => Promise.all(open.splice(0).map((each) => each.close()));

describe('concurrent failures', () => {
  let daemon: PrivateLibvirtd;
  beforeAll(async () => {
    daemon = await startLibvirtd({ driver: 'qemu' });
  });
  afterAll(async () => {
    await closeAll();
    await daemon.stop();
  });

  it('each have the code, domain and message of their own call, for 50 calls', async () => {
    const hypervisor = await connect(daemon);
    const names = Array.from({ length: 50 }, (_, number) => `absent-${number}`);
    const errors = await Promise.all(
      names.map((name, number) =>
        failureOf(number % 2 === 0 ? hypervisor.domainLookupByName(name) : hypervisor.storagePoolLookupByName(name)),
      ),
    );
    expect(errors.every((error) => error instanceof LibvirtError)).toBe(true);
    expect(
      errors.map((error) => {
        const { code, codeNumber, domain, procedure, message } = error as LibvirtError;
        return { code, codeNumber, domain, procedure, message };
      }),
    ).toEqual(
      names.map((name, number) =>
        number % 2 === 0
          ? {
              code: 'NO_DOMAIN',
              codeNumber: 42,
              domain: 'QEMU',
              procedure: 'domainLookupByName',
              message: `Domain not found: no domain with matching name '${name}'`,
            }
          : {
              code: 'NO_STORAGE_POOL',
              codeNumber: 49,
              domain: 'STORAGE',
              procedure: 'storagePoolLookupByName',
              message: `Storage pool not found: no storage pool with matching name '${name}'`,
            },
      ),
    );
  });
});

describe('calls', () => {
  let daemon: PrivateLibvirtd;
  beforeAll(async () => {
    daemon = await startLibvirtd({ driver: 'test' });
  });
  afterAll(async () => {
    daemon.signal('SIGCONT');
    await closeAll();
    await daemon.stop();
  });

  it('fail at their abort or timeout while libvirtd hangs, and block no other work; later calls succeed', async () => {
    const hypervisor = await connect(daemon);
    const [domain] = await hypervisor.listAllDomains();
    daemon.signal('SIGSTOP');
    let pending = 0;
    const callStopped = (options: CallOptions): Promise<unknown[]> => {
      pending = 12;
      const calls = [
        ...Array.from({ length: 8 }, () => hypervisor.getHostname(options)),
        ...Array.from({ length: 4 }, () => domain?.suspend(options) ?? Promise.resolve()),
      ];
      return Promise.all(calls.map((call) => failureOf(call).finally(() => (pending -= 1))));
    };

    // These calls have no timeout. Meanwhile, file, DNS and HTTP work must succeed, so the calls block neither a
    // thread nor the event loop.
    const giveUp = new AbortController();
    const givenUp = callStopped({ signal: giveUp.signal, timeoutMs: Infinity });
    const server = createServer((_request, response) => response.end('alive'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const answers = await Promise.all([
      readFile('/proc/self/comm', 'utf8').then((text) => text.length > 0),
      lookup('localhost').then(({ address }) => address.length > 0),
      new Promise((resolve) => get({ port }, (response) => resolve(response.resume().statusCode))),
    ]);
    expect({ answers, pending }).toEqual({ answers: [true, true, 200], pending: 12 });
    server.close();
    giveUp.abort();
    expect(await givenUp).toEqual(Array.from({ length: 12 }, () => expect.objectContaining({ code: 'CALL_ABORTED' })));

    const errors = await callStopped({ timeoutMs: 200 });
    expect(errors.slice(0, 8)).toEqual(
      Array.from({ length: 8 }, () => expect.objectContaining({ code: 'CALL_TIMEOUT', mayHaveRun: true })),
    );
    // The last four are changes. Their connection, the work connection, was not open, so nothing was sent.
    expect(errors.slice(8)).toEqual(
      Array.from({ length: 4 }, () => expect.objectContaining({ code: 'NOT_CONNECTED', mayHaveRun: false })),
    );
    expect(hypervisor.state).toBe('connected');
    daemon.signal('SIGCONT');
    expect(await hypervisor.getHostname()).not.toBe('');
    await domain?.suspend();
    await domain?.resume();
  });

  it('do not time out if only this process hangs, because the reply is already in the socket', async () => {
    const hypervisor = await connect(daemon);
    const timeoutMs = 2_000;
    const call = hypervisor.getHostname({ timeoutMs });
    // The client sends the request. Then this function blocks the process until long after the deadline.
    process.nextTick(() => {
      for (const end = performance.now() + 2 * timeoutMs; performance.now() < end;);
    });
    expect(await call).not.toBe('');
  });

  it('fail with CONNECTION_LOST if keepalive detects that libvirtd hangs; later calls succeed', async () => {
    const hypervisor = await connect(daemon, { keepalive: { intervalMs: 1000, count: 3 } });
    daemon.signal('SIGSTOP');
    const errors = await Promise.all(
      Array.from({ length: 8 }, () => failureOf(hypervisor.getHostname({ timeoutMs: 240_000 }))),
    );
    expect(errors).toEqual(Array.from({ length: 8 }, () => expect.objectContaining({ code: 'CONNECTION_LOST' })));
    expect(hypervisor.state).toBe('connecting');
    daemon.signal('SIGCONT');
    expect(await hypervisor.getHostname()).not.toBe('');
  });
});

describe('a restarted libvirtd', () => {
  let daemon: PrivateLibvirtd;
  beforeAll(async () => {
    daemon = await startLibvirtd({ driver: 'test' });
  });
  afterAll(async () => {
    await closeAll();
    await daemon.stop();
  });

  it('gets a new connection and sends all registered events, after SIGTERM and after SIGKILL', async () => {
    const hypervisor = await connect(daemon);
    const lifecycle: DomainEvent<'lifecycle'>[] = [];
    const metadata: DomainEvent<'metadataChange'>[] = [];
    await hypervisor.events.on('lifecycle', (event) => lifecycle.push(event)).ready;
    await hypervisor.events.on('metadataChange', (event) => metadata.push(event)).ready;
    const signals = ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL'] as const;
    for (const [round, signal] of signals.entries()) {
      await daemon.stopDaemon(signal);
      await until('the loss of the connection to be noticed', () => hypervisor.state === 'connecting');
      await daemon.start();
      await hypervisor.connected();
      // From here on, changes by another client are visible.
      await virsh(daemon, 'suspend', 'test');
      await virsh(daemon, 'desc', 'test', '--live', `round ${round}`);
      await until('the events', () => lifecycle.length > round && metadata.length > round);
    }
    expect(lifecycle.map((event) => event.domain.name)).toEqual(signals.map(() => 'test'));
    expect(metadata).toHaveLength(signals.length);
  });

  it('answers a call that waited for it; calls that ran when it was killed fail with CONNECTION_LOST', async () => {
    const hypervisor = await connect(daemon);
    daemon.signal('SIGSTOP');
    const calls = Array.from({ length: 50 }, () => failureOf(hypervisor.getHostname()));
    await daemon.stopDaemon('SIGKILL');
    expect(await Promise.all(calls)).toEqual(
      Array.from({ length: 50 }, () => expect.objectContaining({ code: 'CONNECTION_LOST', mayHaveRun: true })),
    );
    const waiting = hypervisor.getHostname({ timeoutMs: 240_000 });
    await daemon.start();
    expect(await waiting).not.toBe('');
  });
});
