import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Domain,
  DomainDefineFlags,
  DomainGetHostnameFlags,
  DomainInterfaceAddressesSource,
  DomainMetadataType,
  DomainModificationImpact,
  DomainPausedReason,
  DomainRunningReason,
  DomainShutoffReason,
  DomainState,
  NodeSuspendTarget,
  DomainUndefineFlags,
  DomainXmlFlags,
  type Hypervisor,
} from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('test', (host) => void ({ daemon, hypervisor } = host));

const xmlOf = (name: string, extra = ''): string => `<domain type='test'>
  <name>${name}</name>
  <memory unit='KiB'>65536</memory>
  <vcpu>1</vcpu>
  <os><type>hvm</type></os>
  ${extra}
</domain>`;

describe('a definition', () => {
  it('is created, validated, replaced and removed', async () => {
    const domain = await hypervisor.domainDefineXml(xmlOf('defined'), DomainDefineFlags.VALIDATE);
    expect(domain).toEqual({ name: 'defined', uuid: await virsh(daemon, 'domuuid', 'defined'), id: -1 });
    expect(await domain.isPersistent()).toBe(true);
    expect(await domain.isActive()).toBe(false);

    const again = xmlOf('defined', `<uuid>${domain.uuid}</uuid><title>second</title>`);
    expect(await hypervisor.domainDefineXml(again)).toEqual(domain);
    expect(await domain.getXmlDesc()).toContain('<title>second</title>');

    await domain.undefine();
    expect(await codeOf(domain.getXmlDesc())).toBe('NO_DOMAIN');
  });

  it('with an unknown element is rejected only with VALIDATE', async () => {
    const odd = xmlOf('odd', '<unheardof/>');
    expect(await codeOf(hypervisor.domainDefineXml(odd, DomainDefineFlags.VALIDATE))).toBe('XML_INVALID_SCHEMA');
    const domain = await hypervisor.domainDefineXml(odd);
    await domain.undefineFlags(DomainUndefineFlags.MANAGED_SAVE | DomainUndefineFlags.SNAPSHOTS_METADATA);
    expect(await codeOf(hypervisor.domainLookupByName('odd'))).toBe('NO_DOMAIN');
  });

  it('has the same live and inactive XML as in virsh, and contains passwords only with SECURE', async () => {
    const vnc = `<devices><graphics type='vnc' port='5999' passwd='secret'/></devices>`;
    const domain = await hypervisor.domainDefineXml(xmlOf('described', vnc));
    await domain.create();
    expect((await domain.getXmlDesc()).trim()).toBe(await virsh(daemon, 'dumpxml', 'described'));
    expect((await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).trim()).toBe(
      await virsh(daemon, 'dumpxml', '--inactive', 'described'),
    );
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).not.toContain('secret');
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE)).toContain("passwd='secret'");
    await domain.destroy();
    await domain.undefine();
  });
});

describe('a domain', () => {
  const { RUNNING, PAUSED, SHUTOFF } = DomainState;
  let domain: Domain;
  beforeAll(async () => {
    domain = await hypervisor.domainDefineXml(xmlOf('powered'));
  });
  afterAll(() => domain.undefine());

  it('has the state and the reason that belong to the last power action', async () => {
    expect(await domain.getState()).toEqual({ state: SHUTOFF, reason: DomainShutoffReason.UNKNOWN });
    const started = await domain.create();
    expect(started).toMatchObject({ name: 'powered', uuid: domain.uuid });
    expect(started.id).toBeGreaterThan(1);
    expect(await domain.getState()).toEqual({ state: RUNNING, reason: DomainRunningReason.BOOTED });
    await domain.suspend();
    expect(await domain.getState()).toEqual({ state: PAUSED, reason: DomainPausedReason.USER });
    await domain.resume();
    expect(await domain.getState()).toEqual({ state: RUNNING, reason: DomainRunningReason.UNPAUSED });
    await domain.reset();
    await domain.injectNmi();
    // This driver has no guest agent.
    await expect(domain.pmSuspendForDuration(NodeSuspendTarget.DISK)).rejects.toThrow('virDomainPMSuspendForDuration');
    await expect(domain.pmWakeup()).rejects.toThrow('virDomainPMWakeup');
    await domain.reboot();
    expect(await domain.isActive()).toBe(true);
    await domain.shutdown();
    expect(await domain.getState()).toEqual({ state: SHUTOFF, reason: DomainShutoffReason.SHUTDOWN });
    await domain.createWithFlags(0);
    await domain.destroyFlags(0);
    expect(await domain.getState()).toEqual({ state: SHUTOFF, reason: DomainShutoffReason.DESTROYED });
  });

  it('rejects destroy and reset while it is off', async () => {
    expect(await codeOf(domain.destroy())).toBe('OPERATION_INVALID');
    expect(await codeOf(domain.reset())).toBe('OPERATION_INVALID');
  });

  it('reports its memory, CPUs and CPU time', async () => {
    await domain.create();
    const info = await domain.getInfo();
    expect(info).toEqual({
      state: RUNNING,
      maxMemKiB: 65_536,
      memoryKiB: 65_536,
      nrVirtCpu: 1,
      cpuTimeNs: expect.any(BigInt),
    });
    await domain.destroy();
  });

  it('reports its saved state until the client deletes it', async () => {
    await domain.create();
    expect(await domain.hasManagedSaveImage()).toBe(false);
    await virsh(daemon, 'managedsave', 'powered');
    expect(await domain.hasManagedSaveImage()).toBe(true);
    await domain.managedSaveRemove();
    expect(await domain.hasManagedSaveImage()).toBe(false);
  });

  it('has the value of autostart that the client sets', async () => {
    expect(await domain.getAutostart()).toBe(false);
    await domain.setAutostart(true);
    expect(await domain.getAutostart()).toBe(true);
    expect(await virsh(daemon, 'dominfo', 'powered')).toMatch(/Autostart: +enable/);
    await domain.setAutostart(false);
    expect(await domain.getAutostart()).toBe(false);
  });

  it('disappears when it stops if it is transient', async () => {
    const transient = await hypervisor.domainCreateXml(xmlOf('transient'));
    expect(transient.id).toBeGreaterThan(1);
    expect(await transient.isPersistent()).toBe(false);
    expect(await transient.isUpdated()).toBe(false);
    await transient.destroy();
    expect(await codeOf(transient.getState())).toBe('NO_DOMAIN');
  });
});

describe('the metadata of a domain', () => {
  const { CONFIG } = DomainModificationImpact;
  const uri = 'urn:rackless:test';
  let domain: Domain;
  beforeAll(async () => {
    domain = await hypervisor.domainDefineXml(xmlOf('noted'));
  });
  afterAll(() => domain.undefine());

  it('can contain an element of a namespace until the client removes it', async () => {
    const { ELEMENT } = DomainMetadataType;
    expect(await codeOf(domain.getMetadata(ELEMENT, uri))).toBe('NO_DOMAIN_METADATA');
    await domain.setMetadata(ELEMENT, '<state led="lit"/>', 'r', uri, CONFIG);
    expect(await domain.getMetadata(ELEMENT, uri)).toBe('<state led="lit"/>');
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).toContain(`<r:state xmlns:r="${uri}" led="lit"/>`);
    await domain.setMetadata(ELEMENT, null, null, uri, CONFIG);
    expect(await codeOf(domain.getMetadata(ELEMENT, uri))).toBe('NO_DOMAIN_METADATA');
  });

  it('can contain a title and a description', async () => {
    const { TITLE, DESCRIPTION } = DomainMetadataType;
    await domain.setMetadata(TITLE, 'Ein Titel – ümlaut', null, null, CONFIG);
    await domain.setMetadata(DESCRIPTION, 'two\nlines', null, null, CONFIG);
    expect(await domain.getMetadata(TITLE, null)).toBe('Ein Titel – ümlaut');
    expect(await domain.getMetadata(DESCRIPTION, null)).toBe('two\nlines');
    expect(await virsh(daemon, 'desc', 'noted', '--title')).toBe('Ein Titel – ümlaut');
  });
});

describe('interface addresses', () => {
  it('come with their MAC address and prefix', async () => {
    const nic = `<devices><interface type='network'><mac address='aa:bb:cc:dd:ee:ff'/><source network='default'/></interface></devices>`;
    const domain = await hypervisor.domainCreateXml(xmlOf('addressed', nic));
    const interfaces = await domain.interfaceAddresses(DomainInterfaceAddressesSource.LEASE);
    const table = await virsh(daemon, 'domifaddr', 'addressed');
    for (const { name, hwaddr, addresses } of interfaces) {
      for (const { address, prefix } of addresses) {
        expect(table.replaceAll(/ +/g, ' ')).toContain(`${name} ${String(hwaddr)} ipv4 ${address}/${prefix}`);
      }
    }
    expect(interfaces.map(({ hwaddr, addresses }) => [hwaddr, addresses.length])).toEqual([['aa:bb:cc:dd:ee:ff', 1]]);
    await domain.destroy();
  });
});

describe("a guest's name", () => {
  it('comes from the hypervisor, but not from a guest agent, which the test driver lacks', async () => {
    const domain = await hypervisor.domainCreateXml(xmlOf('named'));
    expect(await domain.getHostname()).toBe((await virsh(daemon, 'domhostname', 'named')).trim());
    expect(await codeOf(domain.getHostname(DomainGetHostnameFlags.AGENT))).toBe('INVALID_ARG');
    await domain.destroy();
  });
});
