import { describe, expect, it } from '@jest/globals';
import {
  ConnectGetAllDomainStatsFlags,
  ConnectListAllDomainsFlags,
  DomainStatsTypes,
  type Hypervisor,
  LibvirtError,
} from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('test', (host) => void ({ daemon, hypervisor } = host));

/** Converts `9.0.0` to libvirt's version number. */
const versionOf = (text: string): number => {
  const [major = 0, minor = 0, release = 0] = text.split('.').map(Number);
  return major * 1_000_000 + minor * 1_000 + release;
};

describe('the host', () => {
  it('returns its type, versions, name, URI and capabilities', async () => {
    const version = await virsh(daemon, 'version', '--daemon');
    expect(await hypervisor.getType()).toBe('TEST');
    expect(await hypervisor.getVersion()).toBe(2);
    expect(await hypervisor.getLibVersion()).toBe(
      versionOf(/Running against daemon: ([\d.]+)/.exec(version)?.[1] ?? ''),
    );
    expect(await hypervisor.getHostname()).toBe(await virsh(daemon, 'hostname'));
    expect(await hypervisor.getUri()).toBe('test:///default');
    expect((await hypervisor.getCapabilities()).trim()).toBe(await virsh(daemon, 'capabilities'));
  });

  it('rejects calls with NO_SUPPORT if its driver does not support them', async () => {
    const domain = await hypervisor.domainLookupByName('test');
    const error: unknown = await domain.detachDeviceFlags('<disk/>', 0).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LibvirtError);
    expect(error).toMatchObject({ code: 'NO_SUPPORT', procedure: 'domainDetachDeviceFlags' });
  });

  it('returns the processors and the memory of the test driver, which has no memory statistics', async () => {
    expect(await hypervisor.nodeGetInfo()).toEqual({
      model: 'i686',
      memoryKiB: 3_145_728,
      cpus: 16,
      mhz: 1400,
      nodes: 2,
      sockets: 2,
      cores: 2,
      threads: 2,
    });
    // libvirt 12 adds `guest`, which is a part of `user`.
    expect(Object.keys(await hypervisor.nodeGetCpuStats()).slice(0, 4)).toEqual(['user', 'kernel', 'idle', 'iowait']);
    expect(await codeOf(hypervisor.nodeGetMemoryStats())).toBe('NO_SUPPORT');
    expect(await hypervisor.numOfDomains()).toBe(1);
  });

  it('lists domains by filter', async () => {
    const all = await hypervisor.listAllDomains();
    expect(all.map(({ name, id }) => [name, id])).toEqual([['test', 1]]);
    expect(all.map(({ uuid }) => uuid)).toEqual([await virsh(daemon, 'domuuid', 'test')]);
    expect(await hypervisor.listAllDomains(ConnectListAllDomainsFlags.INACTIVE)).toEqual([]);
  });

  it('finds a domain by name, by id, and by its UUID in upper case or without hyphens', async () => {
    const byName = await hypervisor.domainLookupByName('test');
    const uuid = await virsh(daemon, 'domuuid', 'test');
    expect(byName).toEqual({ name: 'test', uuid, id: 1 });
    expect(await hypervisor.domainLookupByUuid(uuid.toUpperCase())).toEqual(byName);
    expect(await hypervisor.domainLookupByUuid(uuid.replaceAll('-', ''))).toEqual(byName);
    expect(await hypervisor.domainLookupById(1)).toEqual(byName);
  });

  it('fails with NO_DOMAIN for an unknown name, UUID and id', async () => {
    const missing = [
      hypervisor.domainLookupByName('absent'),
      hypervisor.domainLookupByUuid('00000000-0000-0000-0000-000000000000'),
      hypervisor.domainLookupById(4711),
    ];
    const codes = await Promise.all(missing.map(codeOf));
    expect(codes).toEqual(['NO_DOMAIN', 'NO_DOMAIN', 'NO_DOMAIN']);
  });

  it('returns statistics of all domains and of given domains, and sends flags with bit 31', async () => {
    const { STATE, CPU_TOTAL } = DomainStatsTypes;
    const states = await hypervisor.getAllDomainStats(STATE);
    expect(states.map(({ domain, parameters }) => [domain.name, parameters])).toEqual([
      ['test', { 'state.state': 1, 'state.reason': 0 }],
    ]);
    const chosen = await hypervisor.domainListGetStats([await hypervisor.domainLookupByName('test')], STATE);
    expect(chosen).toEqual(states);
    // If bit 31 is set, `|` returns a negative number. libvirtd must receive the same 32 bits.
    const enforced = ConnectGetAllDomainStatsFlags.ENFORCE_STATS | ConnectGetAllDomainStatsFlags.ACTIVE;
    const error: unknown = await hypervisor.getAllDomainStats(STATE | CPU_TOTAL, enforced).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'ARGUMENT_UNSUPPORTED', procedure: 'connectGetAllDomainStats' });
  });
});
