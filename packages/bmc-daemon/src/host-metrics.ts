/** Metrics of the hosts. A host that does not answer, or has no known facts, has only `bmc_host_up`. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { readHostSnapshots, type HostFacts, type HostsControl } from './drivers/hosts-control.js';

/**
 * Registers the metrics of the hosts.
 * @returns the function that reads the hosts. Call it before each scrape.
 */
export function registerHostMetrics(hosts: HostsControl, register: Registry): () => Promise<void> {
  const registers = [register];
  const up = new Gauge({
    name: 'bmc_host_up',
    help: '1 if the host answers, 0 if it does not.',
    labelNames: ['host'],
    registers,
  });
  const info = new Gauge({
    name: 'bmc_host_info',
    help: 'Versions of the host as labels. The value is always 1.',
    labelNames: ['host', 'hypervisor', 'hypervisor_version', 'libvirt_version', 'architecture'],
    registers,
  });
  const cpuSeconds = new Counter({
    name: 'bmc_host_cpu_seconds_total',
    help: 'CPU time of all CPUs of the host since its start.',
    labelNames: ['host', 'mode'],
    registers,
  });
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['host'], registers });
  const cpus = gauge('bmc_host_cpus', 'Logical CPUs of the host.');
  const memory = gauge('bmc_host_memory_bytes', 'Memory of the host.');
  const freeMemory = gauge('bmc_host_memory_free_bytes', 'Memory of the host that is unused, or used only for caches.');
  const machines = new Gauge({
    name: 'bmc_host_machines',
    help: 'Machines of the host.',
    labelNames: ['host', 'state'],
    registers,
  });

  const setFacts = (host: string, facts: HostFacts): void => {
    const { hypervisor, libvirtVersion, architecture, processors, cpuTime, freeMemoryBytes } = facts;
    const versions = { hypervisor: hypervisor.name, hypervisor_version: hypervisor.version };
    info.set({ host, ...versions, libvirt_version: libvirtVersion, architecture }, 1);
    cpus.set({ host }, processors.threads);
    memory.set({ host }, facts.memoryBytes);
    if (freeMemoryBytes !== null) freeMemory.set({ host }, freeMemoryBytes);
    machines.set({ host, state: 'running' }, facts.machines.running);
    machines.set({ host, state: 'stopped' }, facts.machines.total - facts.machines.running);
    if (cpuTime === null) return;
    cpuSeconds.inc({ host, mode: 'busy' }, cpuTime.busySeconds);
    cpuSeconds.inc({ host, mode: 'idle' }, cpuTime.idleSeconds);
  };

  return async () => {
    const snapshots = await readHostSnapshots(hosts);
    // Removes hosts that are gone, and the values of hosts that do not answer.
    for (const metric of [up, info, cpuSeconds, cpus, memory, freeMemory, machines]) metric.reset();
    for (const { name, reachable, facts } of snapshots) {
      up.set({ host: name }, reachable ? 1 : 0);
      if (reachable && facts !== null) setFacts(name, facts);
    }
  };
}
