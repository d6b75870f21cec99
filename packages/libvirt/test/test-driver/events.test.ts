import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Domain,
  type DomainEvent,
  DomainEventDefinedDetail,
  DomainEventResumedDetail,
  DomainEventStartedDetail,
  DomainEventStoppedDetail,
  DomainEventSuspendedDetail,
  DomainEventType,
  DomainMetadataType,
  DomainModificationImpact,
  Hypervisor,
} from '../../src/index.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
beforeAll(async () => {
  daemon = await startLibvirtd({ driver: 'test' });
});
afterAll(() => daemon.stop());
beforeEach(async () => {
  hypervisor = await Hypervisor.open(daemon.uri);
});
afterEach(() => hypervisor.close());

const xmlOf = (name: string): string =>
  `<domain type='test'><name>${name}</name><memory>65536</memory><os><type>hvm</type></os></domain>`;

/** Returns the next `count` events; fewer if the iterator ends. */
const take = async <T>(iterator: AsyncIterator<T>, count: number): Promise<readonly T[]> => {
  const taken: T[] = [];
  while (taken.length < count) {
    const next = await iterator.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
};
const lifecycleOf = ({ domain, event, detail }: DomainEvent<'lifecycle'>): readonly unknown[] => [
  domain.name,
  event,
  detail,
];

const powerCycle = async (domain: Domain): Promise<void> => {
  await domain.create();
  await domain.suspend();
  await domain.resume();
  await domain.destroy();
};

describe('events', () => {
  it('report the lifecycle in order, with its details', async () => {
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    const domain = await hypervisor.domainDefineXml(xmlOf('cycled'));
    await powerCycle(domain);
    await domain.undefine();
    expect((await take(events, 6)).map(lifecycleOf)).toEqual([
      ['cycled', DomainEventType.DEFINED, DomainEventDefinedDetail.ADDED],
      ['cycled', DomainEventType.STARTED, DomainEventStartedDetail.BOOTED],
      ['cycled', DomainEventType.SUSPENDED, DomainEventSuspendedDetail.PAUSED],
      ['cycled', DomainEventType.RESUMED, DomainEventResumedDetail.UNPAUSED],
      ['cycled', DomainEventType.STOPPED, DomainEventStoppedDetail.DESTROYED],
      ['cycled', DomainEventType.UNDEFINED, 0],
    ]);
    await events.return?.();
  });

  it('contain the domain with its methods', async () => {
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    const domain = await hypervisor.domainDefineXml(xmlOf('valued'));
    const [event] = await take(events, 1);
    expect(event).toEqual({
      kind: 'lifecycle',
      domain,
      event: DomainEventType.DEFINED,
      detail: DomainEventDefinedDetail.ADDED,
    });
    await event?.domain.undefine();
    expect((await hypervisor.listAllDomains()).map(({ name }) => name)).not.toContain('valued');
    await events.return?.();
  });

  it('can come from one iterator in their order, even if they are of several kinds', async () => {
    const domain = await hypervisor.domainDefineXml(xmlOf('noted'));
    const events = hypervisor.events.iterate(['metadataChange', 'lifecycle']);
    await events.ready;
    const { ELEMENT, TITLE } = DomainMetadataType;
    await domain.setMetadata(ELEMENT, '<a/>', 'r', 'urn:rackless:test', DomainModificationImpact.CONFIG);
    await domain.setMetadata(TITLE, 'titled', null, null, DomainModificationImpact.CONFIG);
    await domain.undefine();
    expect(await take(events, 3)).toEqual([
      { kind: 'metadataChange', domain, type: ELEMENT, nsUri: 'urn:rackless:test' },
      { kind: 'metadataChange', domain, type: TITLE, nsUri: null },
      { kind: 'lifecycle', domain, event: DomainEventType.UNDEFINED, detail: 0 },
    ]);
    await events.return?.();
  });

  it('reach every listener of a kind until it is removed', async () => {
    const seen: string[] = [];
    const first = hypervisor.events.on('lifecycle', ({ event }) => seen.push(`first ${event}`));
    const second = hypervisor.events.on('lifecycle', ({ event }) => seen.push(`second ${event}`));
    const events = hypervisor.events.iterate('lifecycle');
    await Promise.all([first.ready, second.ready, events.ready]);
    const domain = await hypervisor.domainDefineXml(xmlOf('heard'));
    await events.next();
    first.remove();
    first.remove();
    await domain.undefine();
    await events.next();
    expect(seen).toEqual(['first 0', 'second 0', 'second 1']);
    second.remove();
    await events.return?.();
  });

  it('arrive only once after all listeners were removed and another one was added', async () => {
    const seen: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      // The test removes one listener before libvirtd has answered its registration, and one after that.
      hypervisor.events.on('lifecycle', () => seen.push(-1)).remove();
      const brief = hypervisor.events.on('lifecycle', () => seen.push(-2));
      await brief.ready;
      brief.remove();
    }
    const second = hypervisor.events.on('lifecycle', ({ event }) => seen.push(event));
    const events = hypervisor.events.iterate('lifecycle');
    await Promise.all([second.ready, events.ready]);
    const domain = await hypervisor.domainDefineXml(xmlOf('once'));
    await domain.undefine();
    await take(events, 2);
    expect(seen).toEqual([DomainEventType.DEFINED, DomainEventType.UNDEFINED]);
    second.remove();
    await events.return?.();
  });

  it('continue after a restart of libvirtd, for listeners and iterators', async () => {
    const seen: string[] = [];
    const subscription = hypervisor.events.on('lifecycle', ({ domain, event }) => seen.push(`${domain.name} ${event}`));
    const events = hypervisor.events.iterate('lifecycle');
    await Promise.all([subscription.ready, events.ready]);
    const back = new Promise<void>((resolve) => {
      let lost = false;
      const stop = hypervisor.onStateChange((state) => {
        lost ||= state === 'connecting';
        if (!lost || state !== 'connected') return;
        stop();
        resolve();
      });
    });
    await daemon.stopDaemon();
    await daemon.start();
    await back;
    const domain = await hypervisor.domainDefineXml(xmlOf('after'));
    const [event] = await take(events, 1);
    expect(event?.domain).toEqual(domain);
    expect(seen).toEqual(['after 0']);
    await domain.undefine();
    subscription.remove();
    await events.return?.();
  });

  it('stop with the reason of the signal when the signal is aborted', async () => {
    const controller = new AbortController();
    const events = hypervisor.events.iterate('reboot', { signal: controller.signal });
    await events.ready;
    const waiting = events.next();
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(await events.next()).toEqual({ done: true, value: undefined });
    const late = hypervisor.events.iterate('reboot', { signal: controller.signal });
    await expect(late.next()).rejects.toThrow('enough');
  });

  it('end when the hypervisor is closed', async () => {
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    const waiting = events.next();
    await hypervisor.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await hypervisor.events.iterate('lifecycle').next()).toEqual({ done: true, value: undefined });
  });
});
