import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainEventId, Hypervisor } from '../../src/index.js';
import { connectProcedures } from '../../src/protocol/connect.js';
import { domainEvents, eventProcedures } from '../../src/protocol/event.js';
import { FakeLibvirtd, HANG, Refusal } from '../fake/fake-libvirtd.js';
import { failureOf, until } from '../fake/until.js';

const domain = { name: 'vm', uuid: '00000000-0000-0000-0000-000000000001', id: 1 };
const NO_SUPPORT = 3;

let fake: FakeLibvirtd;
let hypervisor: Hypervisor;
/** Requests to the fake: `+0` registers kind 0, `-7` deregisters callback 7. */
let requests: string[];
/** Callback id of the next registration. */
let nextCallback: number;
beforeEach(async () => {
  requests = [];
  nextCallback = 7;
  fake = await FakeLibvirtd.start();
  fake.on(eventProcedures.callbackRegisterAny, ({ eventId, domain: only }) => {
    expect(only).toBeNull();
    requests.push(`+${eventId}`);
    return nextCallback++;
  });
  fake.on(eventProcedures.callbackDeregisterAny, ({ callbackId }) => {
    requests.push(`-${callbackId}`);
    return undefined;
  });
  fake.on(connectProcedures.getHostname, () => 'fake');
  hypervisor = await Hypervisor.open(fake.uri, { backoff: { firstMs: 5, maxMs: 20 } });
});
afterEach(async () => {
  await hypervisor.close();
  await fake.stop();
});

/** Sends an event to the callback with this id. */
const emitLifecycle = (callbackId: number, detail: number): void =>
  fake.emit(domainEvents.lifecycle, { callbackId, domain, event: 2, detail });

describe('an event registration', () => {
  it('is shared by all listeners of a kind, and removed with the last one', async () => {
    const first = hypervisor.events.on('lifecycle', () => undefined);
    const second = hypervisor.events.on('lifecycle', () => undefined);
    const reboot = hypervisor.events.on('reboot', () => undefined);
    await Promise.all([first.ready, second.ready, reboot.ready]);
    first.remove();
    reboot.remove();
    second.remove();
    await hypervisor.getHostname();
    expect(requests).toEqual([`+${DomainEventId.LIFECYCLE}`, `+${DomainEventId.REBOOT}`, '-8', '-7']);
  });

  it('passes no event to the listener of a later registration after its own removal', async () => {
    const seen: number[] = [];
    const first = hypervisor.events.on('lifecycle', ({ detail }) => seen.push(detail));
    await first.ready;
    first.remove();
    const second = hypervisor.events.on('lifecycle', ({ detail }) => seen.push(detail));
    await second.ready;
    emitLifecycle(7, 70);
    emitLifecycle(8, 80);
    await until('the event', () => seen.length > 0);
    expect(seen).toEqual([80]);
  });

  it('does not hang if libvirtd does not answer, even if it begins 0 to 19 microtasks after another one', async () => {
    let hangs = false;
    fake.on(eventProcedures.callbackRegisterAny, ({ eventId }) => {
      if (eventId !== DomainEventId.REBOOT || !hangs) return nextCallback++;
      hangs = false;
      return HANG;
    });
    for (let ticks = 0; ticks < 20; ticks += 1) {
      const other = Hypervisor.connect(fake.uri, { callTimeoutMs: 50, backoff: { firstMs: 5, maxMs: 20 } });
      try {
        await other.events.on('lifecycle', () => undefined).ready;
        for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
        hangs = true;
        let isSettled = false;
        other.events
          .on('reboot', () => undefined)
          .ready.then(
            () => (isSettled = true),
            () => (isSettled = true),
          );
        await until(`the registration after ${ticks} microtasks`, () => isSettled);
      } finally {
        await other.close();
      }
    }
  });

  it('waits for the removal of the previous registration', async () => {
    let answer: () => void = () => undefined;
    fake.on(eventProcedures.callbackDeregisterAny, async ({ callbackId }) => {
      await new Promise<void>((resolve) => (answer = resolve));
      requests.push(`-${callbackId}`);
      return undefined;
    });
    const first = hypervisor.events.on('lifecycle', () => undefined);
    await first.ready;
    first.remove();
    const second = hypervisor.events.on('lifecycle', () => undefined);
    await hypervisor.getHostname();
    expect(requests).toEqual(['+0']);
    answer();
    await second.ready;
    expect(requests).toEqual(['+0', '-7', '+0']);
  });

  it('delays a close of the client until libvirtd has removed it, because libvirtd may crash otherwise', async () => {
    let answer: () => void = () => undefined;
    fake.on(eventProcedures.callbackDeregisterAny, async ({ callbackId }) => {
      requests.push(`-${callbackId}`);
      await new Promise<void>((resolve) => (answer = resolve));
      return undefined;
    });
    const subscription = hypervisor.events.on('lifecycle', () => undefined);
    await subscription.ready;
    subscription.remove();
    const closed = hypervisor.close();
    await until('the deregistration', () => requests.length === 2);
    expect(hypervisor.state).toBe('connected');
    answer();
    await closed;
    expect(hypervisor.state).toBe('closed');
  });

  it('is not removed if a close ends its iterator, because the connection ends too', async () => {
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    await hypervisor.close();
    expect(await events.next()).toEqual({ done: true, value: undefined });
    await until('the end of the connection', () => fake.clients.length === 0);
    expect(requests).toEqual(['+0']);
  });

  it('is removed after its reply if its listener was removed before the reply', async () => {
    let answer: () => void = () => undefined;
    fake.on(eventProcedures.callbackRegisterAny, async ({ eventId }) => {
      requests.push(`+${eventId}`);
      await new Promise<void>((resolve) => (answer = resolve));
      return nextCallback++;
    });
    hypervisor.events.on('lifecycle', () => undefined).remove();
    await until('the registration', () => requests.length === 1);
    answer();
    await until('the deregistration', () => requests.length === 2);
    expect(requests).toEqual(['+0', '-7']);
  });

  it('also serves a listener that is added before the reply of libvirtd', async () => {
    hypervisor.events.on('lifecycle', () => undefined).remove();
    const seen: number[] = [];
    const listener = hypervisor.events.on('lifecycle', ({ detail }) => seen.push(detail));
    await listener.ready;
    emitLifecycle(7, 70);
    await until('the event', () => seen.length > 0);
    expect(requests).toEqual(['+0']);
  });

  it('rejects listener and iterator if libvirtd refuses it, and is tried again for the next listener', async () => {
    let refuse = true;
    fake.on(eventProcedures.callbackRegisterAny, () => {
      if (refuse) throw new Refusal(NO_SUPPORT, 0, 'no such events here');
      return 7;
    });
    const subscription = hypervisor.events.on('watchdog', () => undefined);
    const events = hypervisor.events.iterate('watchdog');
    expect(await failureOf(subscription.ready)).toMatchObject({ code: 'NO_SUPPORT' });
    expect(await failureOf(events.next())).toMatchObject({ code: 'NO_SUPPORT' });
    refuse = false;
    await hypervisor.events.on('watchdog', () => undefined).ready;
  });

  it('removes a listener that libvirtd refuses, so that it gets no events of a later registration', async () => {
    let refuse = true;
    fake.on(eventProcedures.callbackRegisterAny, () => {
      if (refuse) throw new Refusal(NO_SUPPORT, 0, 'no such events here');
      return 7;
    });
    const seen: string[] = [];
    const refused = hypervisor.events.on('lifecycle', () => seen.push('refused'));
    expect(await failureOf(refused.ready)).toMatchObject({ code: 'NO_SUPPORT' });
    refuse = false;
    const listener = hypervisor.events.on('lifecycle', () => seen.push('registered'));
    await listener.ready;
    emitLifecycle(7, 70);
    await until('the event', () => seen.includes('registered'));
    expect(seen).toEqual(['registered']);
    // A second removal must not remove the registration of the other listener.
    refused.remove();
    emitLifecycle(7, 71);
    await until('the second event', () => seen.length === 2);
    expect(requests).toEqual([]);
  });

  it('is repeated after a reconnect, with new callback ids', async () => {
    const seen: number[] = [];
    const former = hypervisor.events.on('lifecycle', () => seen.push(-1));
    await former.ready;
    former.remove();
    const listener = hypervisor.events.on('lifecycle', ({ detail }) => seen.push(detail));
    await listener.ready;
    await hypervisor.getHostname();
    nextCallback = 7;
    for (const client of [...fake.clients]) client.drop();
    await until('the new registration', () => requests.length === 4);
    await hypervisor.connected();
    // On the old connection, callback 7 belonged to the removed registration. On the new connection, the same id
    // belongs to the listener.
    emitLifecycle(7, 70);
    await until('the event', () => seen.length > 0);
    expect([requests, seen]).toEqual([['+0', '-7', '+0', '+0'], [70]]);
  });

  it('is not repeated if its listener is removed while disconnected', async () => {
    const subscription = hypervisor.events.on('lifecycle', () => undefined);
    await subscription.ready;
    await fake.stopListening();
    await until('the loss of the connection', () => hypervisor.state === 'connecting');
    subscription.remove();
    await fake.listen();
    await hypervisor.connected();
    await hypervisor.getHostname();
    expect(requests).toEqual(['+0']);
  });
});

describe('an iterator', () => {
  it('fails when its consumer is 10,000 events behind, and deregisters', async () => {
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    for (let detail = 0; detail <= 10_000; detail += 1) emitLifecycle(7, detail);
    await until('the deregistration', () => requests.includes('-7'));
    const details: number[] = [];
    const read = async (): Promise<void> => {
      for await (const { detail } of events) details.push(detail);
    };
    expect(await failureOf(read())).toEqual(new Error('iterating over events: the consumer is 10000 events behind'));
    expect(details).toEqual(Array.from({ length: 10_000 }, (_, index) => index));
  });
});

describe('a malformed reply', () => {
  it('fails only its own call, with the name of the procedure', async () => {
    // A typed parameter of the unknown type 8.
    const stats = { ...connectProcedures.getAllDomainStats };
    fake.on(
      {
        ...stats,
        result: {
          encode: (writer) => [1, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0].forEach((word) => writer.uint32(word)),
          decode: (reader) => stats.result.decode(reader),
        },
      },
      () => [],
    );
    const error = await failureOf(hypervisor.getAllDomainStats(1));
    expect(error).toMatchObject({ code: 'PROTOCOL', procedure: 'connectGetAllDomainStats' });
    expect(await hypervisor.getHostname()).toBe('fake');
  });
});
