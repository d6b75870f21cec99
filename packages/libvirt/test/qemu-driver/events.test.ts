import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  DomainBlockJobStatus,
  DomainBlockJobType,
  DomainEventDiskChangeReason,
  DomainEventWatchdogAction,
  type Hypervisor,
} from '../../src/index.js';
import { echoGuestXml, writeEchoDisk } from '../harness/echo-guest.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));

/**
 * Boot sector that causes these events, in this order:
 * - clock: sets register 4 of the CMOS (hours) to 0
 * - balloon: sets `actual`, at byte 24 of the configuration of the virtio balloon in PCI slot 6, to
 *   1,024 pages
 * - watchdog: starts the ib700 with its shortest timeout
 */
const TROUBLE = Buffer.from(
  [
    'b004', // mov al,4
    'e670', // out 0x70,al
    'b000', // mov al,0
    'e671', // out 0x71,al
    '66b810300080', // mov eax,0x80003010: slot 6, base address 0
    'baf80c', // mov dx,0xcf8
    '66ef', // out dx,eax
    'b2fc', // mov dl,0xfc
    '66ed', // in eax,dx
    '24fc', // and al,0xfc
    '83c018', // add ax,24
    '89c2', // mov dx,ax
    '66b800040000', // mov eax,1024
    '66ef', // out dx,eax
    'b00f', // mov al,15
    'ba4304', // mov dx,0x443
    'ee', // out dx,al
    'f4', // hlt
    'ebfd', // jmp to hlt
  ].join(''),
  'hex',
);

describe('an action of the guest', () => {
  it('causes an event if it concerns clock, balloon or watchdog', async () => {
    const disk = Buffer.alloc(1_048_576);
    TROUBLE.copy(disk);
    disk.writeUInt16LE(0xaa55, 510);
    const path = join(daemon.dir, 'tmp', 'trouble.img');
    await writeFile(path, disk);
    const devices = `<memballoon model='virtio'><address type='pci' domain='0' bus='0' slot='6' function='0'/></memballoon>
      <watchdog model='ib700' action='none'/>`;
    const xml = echoGuestXml({ name: 'trouble', disk: path, devices }).replace("<memballoon model='none'/>", '');
    const events = hypervisor.events.iterate(['rtcChange', 'balloonChange', 'watchdog']);
    await events.ready;
    const domain = await hypervisor.domainCreateXml(xml);

    const clock = await events.next();
    expect(clock.value).toEqual({ kind: 'rtcChange', domain, utcOffsetSeconds: expect.any(Number) });
    const balloon = await events.next();
    // 16 MiB minus 1,024 pages of 4 KiB. `actual` is the number of pages in the balloon.
    expect(balloon.value).toEqual({ kind: 'balloonChange', domain, actualKiB: 12_288 });
    const watchdog = await events.next();
    expect(watchdog.value).toEqual({ kind: 'watchdog', domain, action: DomainEventWatchdogAction.NONE });
    await events.return?.();
    await domain.destroy();
  });
});

describe('a disk', () => {
  it('causes an event if it is missing at the start', async () => {
    const disk = await writeEchoDisk(join(daemon.dir, 'tmp'));
    const missing = join(daemon.dir, 'tmp', 'missing.iso');
    const drive = `<disk type='file' device='cdrom'><source file='${missing}' startupPolicy='optional'/><target dev='hdb' bus='ide'/><readonly/></disk>`;
    const events = hypervisor.events.iterate('diskChange');
    await events.ready;
    const domain = await hypervisor.domainCreateXml(echoGuestXml({ name: 'partial', disk, devices: drive }));
    const event = await events.next();
    expect(event.value).toEqual({
      kind: 'diskChange',
      domain: expect.objectContaining({ name: 'partial' }),
      oldSourcePath: missing,
      newSourcePath: null,
      deviceAlias: 'ide0-0-1',
      reason: DomainEventDiskChangeReason.MISSING_ON_START,
    });
    await events.return?.();
    await domain.destroy();
  });

  it('with a block job causes events with its target and the status of the job', async () => {
    const disk = await writeEchoDisk(join(daemon.dir, 'tmp'), 'base.img');
    const defined = await hypervisor.domainDefineXml(echoGuestXml({ name: 'layered', disk }));
    const domain = await defined.create();
    await virsh(daemon, 'snapshot-create-as', 'layered', 'top', '--disk-only', '--no-metadata', '--diskspec', 'vda');
    const events = hypervisor.events.iterate('blockJob');
    await events.ready;
    await virsh(daemon, 'blockcommit', 'layered', 'vda', '--active', '--pivot', '--wait');
    const [ready, completed] = [await events.next(), await events.next()];
    const job = { kind: 'blockJob', domain, target: 'vda', type: DomainBlockJobType.ACTIVE_COMMIT };
    expect(ready.value).toEqual({ ...job, status: DomainBlockJobStatus.READY });
    expect(completed.value).toEqual({ ...job, status: DomainBlockJobStatus.COMPLETED });
    await events.return?.();
    await domain.destroy();
    await domain.undefine();
  });
});
