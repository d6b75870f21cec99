import { describe, expect, it } from '@jest/globals';
import type { Hypervisor } from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));

/** Runs virsh, whose output has lines of `name: value unit`. Returns the values by name, without units. */
async function values(...command: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const text = await virsh(daemon, ...command);
  return new Map([...text.matchAll(/^(.+?) *: +(\S+)/gm)].map(([, name = '', value = '']) => [name, value]));
}

describe('the processors and the memory of a host', () => {
  it('have the values of virsh nodeinfo, except the frequency, which varies', async () => {
    const info = await hypervisor.nodeGetInfo();
    const shown = await values('nodeinfo');
    expect(
      [info.model, info.cpus, info.nodes, info.sockets, info.cores, info.threads, info.memoryKiB].map(String),
    ).toEqual(
      [
        'CPU model',
        'CPU(s)',
        'NUMA cell(s)',
        'CPU socket(s)',
        'Core(s) per socket',
        'Thread(s) per core',
        'Memory size',
      ].map((name) => shown.get(name)),
    );
    expect(info.mhz).toBeGreaterThanOrEqual(0);
  });

  it('have CPU times between those of virsh before and after the call; an unknown CPU causes INVALID_ARG', async () => {
    const before = await values('nodecpustats');
    const stats = await hypervisor.nodeGetCpuStats();
    const after = await values('nodecpustats');
    for (const [name, field] of [
      ['user', 'user'],
      ['system', 'kernel'],
      ['idle', 'idle'],
    ] as const) {
      expect(stats[field]).toBeGreaterThanOrEqual(BigInt(before.get(name) ?? -1));
      expect(stats[field]).toBeLessThanOrEqual(BigInt(after.get(name) ?? -1));
    }
    const first = await hypervisor.nodeGetCpuStats(0);
    expect(first['idle']).toBeLessThanOrEqual((await hypervisor.nodeGetCpuStats())['idle'] ?? 0n);
    expect(await codeOf(hypervisor.nodeGetCpuStats(1_000_000))).toBe('INVALID_ARG');
  });

  it('have the statistics and the total of virsh nodememstats; a NUMA cell has only total and free', async () => {
    const stats = await hypervisor.nodeGetMemoryStats();
    const shown = await values('nodememstats');
    expect(Object.keys(stats)).toEqual([...shown.keys()]);
    expect(stats['total']).toBe(BigInt(shown.get('total') ?? -1));
    const cell = await hypervisor.nodeGetMemoryStats(0);
    expect(Object.keys(cell)).toEqual(['total', 'free']);
  });
});

describe('the number of domains', () => {
  it('is 0 on a host without domains', async () => {
    expect(await hypervisor.numOfDomains()).toBe(0);
  });
});
