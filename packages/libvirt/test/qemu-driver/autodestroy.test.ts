import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { DomainCreateFlags, DomainEventType, DomainState, Hypervisor } from '../../src/index.js';
import { echoGuestXml, writeEchoDisk } from '../harness/echo-guest.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';

const { START_PAUSED, START_AUTODESTROY } = DomainCreateFlags;

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
let disk: string;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));
beforeAll(async () => {
  disk = await writeEchoDisk(join(daemon.dir, 'tmp'));
});

describe('a domain with AUTODESTROY', () => {
  it('stops when the hypervisor that started it is closed', async () => {
    const starter = await Hypervisor.open(daemon.uri);
    const domain = await starter.domainCreateXml(
      echoGuestXml({ name: 'leased', disk }),
      START_PAUSED | START_AUTODESTROY,
    );
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    expect((await domain.getState()).state).toBe(DomainState.PAUSED);
    await starter.close();
    // An event for the shutdown of QEMU may come first.
    const seen: { readonly name: string; readonly event: number }[] = [];
    for await (const { domain: changed, event } of events) {
      seen.push({ name: changed.name, event });
      if (event === DomainEventType.STOPPED) break;
    }
    expect(seen.at(-1)).toEqual({ name: 'leased', event: DomainEventType.STOPPED });
  });
});
