import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Domain,
  DomainInterfaceAddressesSource,
  DomainMetadataType,
  DomainShutoffReason,
  DomainState,
  DomainStatsTypes,
  DomainXmlFlags,
  type Hypervisor,
} from '../../src/index.js';
import { echoGuestXml, writeEchoDisk } from '../harness/echo-guest.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
let hung: Domain;
let healthy: Domain;
let guestPid: number;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));
beforeAll(async () => {
  const disk = await writeEchoDisk(join(daemon.dir, 'tmp'));
  const start = async (name: string): Promise<Domain> => {
    const shared = echoGuestXml({ name, disk }).replace('<source', '<shareable/><source');
    return (await hypervisor.domainDefineXml(shared)).create();
  };
  hung = await start('hung');
  healthy = await start('healthy');
  guestPid = await daemon.guestPid('hung');
  process.kill(guestPid, 'SIGSTOP');
});

/**
 * Timeout of the calls that hang. On a loaded host, the client needs some of this time to open its second connection.
 * If this took longer, the calls would fail with NOT_CONNECTED.
 */
const timeoutMs = 10_000;

describe('with a stopped QEMU process', () => {
  it('reads that do not need QEMU are answered', async () => {
    const reads = {
      state: hung.getState(),
      info: hung.getInfo(),
      xml: hung.getXmlDesc(),
      inactive: hung.getXmlDesc(DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE),
      active: hung.isActive(),
      persistent: hung.isPersistent(),
      updated: hung.isUpdated(),
      autostart: hung.getAutostart(),
      managedSave: hung.hasManagedSaveImage(),
      metadata: codeOf(hung.getMetadata(DomainMetadataType.TITLE, null)),
      leases: codeOf(hung.interfaceAddresses(DomainInterfaceAddressesSource.LEASE)),
      arp: codeOf(hung.interfaceAddresses(DomainInterfaceAddressesSource.ARP)),
      list: hypervisor.listAllDomains(),
      lookup: hypervisor.domainLookupByName('hung'),
      stats: hypervisor.getAllDomainStats(DomainStatsTypes.STATE),
    };
    const outcomes = await Promise.all(Object.values(reads).map(codeOf));
    expect(outcomes).toEqual(outcomes.map(() => undefined));
    expect(await reads.state).toMatchObject({ state: DomainState.RUNNING });
    expect(await reads.metadata).toBe('NO_DOMAIN_METADATA');
  });

  it('calls that wait for QEMU time out, and block neither other domains nor reads', async () => {
    const stuck = Promise.all([
      codeOf(hung.reset({ timeoutMs })),
      codeOf(hung.getBlockInfo('vda', { timeoutMs })),
      codeOf(hung.qemuMonitorCommand('{"execute":"query-status"}', 0, { timeoutMs })),
    ]);
    expect((await healthy.getBlockInfo('vda')).capacityBytes).toBe(1_048_576);
    await healthy.suspend();
    await healthy.resume();
    expect(await hung.isActive()).toBe(true);
    expect(await stuck).toEqual(['CALL_TIMEOUT', 'CALL_TIMEOUT', 'CALL_TIMEOUT']);
  });

  it('destroy succeeds within the default timeout', async () => {
    await hung.destroy();
    expect(await hung.getState()).toEqual({ state: DomainState.SHUTOFF, reason: DomainShutoffReason.DESTROYED });
  });
});
