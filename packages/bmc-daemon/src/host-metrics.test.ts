import { expect, it } from '@jest/globals';
import { DriverError } from './drivers/driver-error.js';
import type { HostFacts, HostsControl, HostSnapshot } from './drivers/hosts-control.js';
import { createMetrics } from './metrics.js';

const facts: HostFacts = {
  hypervisor: { name: 'QEMU', version: '7.2.22' },
  libvirtVersion: '9.0.0',
  architecture: 'x86_64',
  processors: { sockets: 1, cores: 4, threads: 8 },
  memoryBytes: 1024,
  freeMemoryBytes: 512,
  cpuTime: { busySeconds: 5, idleSeconds: 15 },
  cpuLoad: 0.25,
  machines: { total: 3, running: 2 },
};
const answering = { reachable: true, reason: null, since: new Date(), facts };

/** Returns a function that reads the metrics of hosts, one line each. A host that is null cannot be read. */
function metricsOf(hosts: Record<string, Omit<HostSnapshot, 'name' | 'uri'> | null>) {
  const control: HostsControl = {
    hasHostList: true,
    list: () => Object.keys(hosts).map((name) => ({ name, uri: `qemu+tls://${name}/system` })),
    read: (name) => {
      const snapshot = hosts[name] ?? null;
      if (snapshot === null) return Promise.reject(new DriverError('internal', `reading host ${name}: failed`));
      return Promise.resolve({ name, uri: `qemu+tls://${name}/system`, ...snapshot });
    },
    onChange: () => () => undefined,
  };
  const metrics = createMetrics({ ping: () => Promise.resolve(), hosts: control });
  return async () => (await metrics.expose()).text.split('\n').filter((line) => line.startsWith('bmc_host_'));
}

it('the metrics show whether each host answers, and its versions, capacity, load and machines', async () => {
  const read = metricsOf({ a: answering });
  const expected = [
    'bmc_host_up{host="a"} 1',
    'bmc_host_info{host="a",hypervisor="QEMU",hypervisor_version="7.2.22",libvirt_version="9.0.0",architecture="x86_64"} 1',
    'bmc_host_cpu_seconds_total{host="a",mode="busy"} 5',
    'bmc_host_cpu_seconds_total{host="a",mode="idle"} 15',
    'bmc_host_cpus{host="a"} 8',
    'bmc_host_memory_bytes{host="a"} 1024',
    'bmc_host_memory_free_bytes{host="a"} 512',
    'bmc_host_machines{host="a",state="running"} 2',
    'bmc_host_machines{host="a",state="stopped"} 1',
  ];
  expect(await read()).toEqual(expected);
  // A counter has the value of the host, not the sum of all reads.
  expect(await read()).toEqual(expected);
});

it('the metrics show only bmc_host_up for a host that cannot be read, and nothing for a removed host', async () => {
  const hosts: Parameters<typeof metricsOf>[0] = { a: answering, b: answering, c: answering };
  const read = metricsOf(hosts);
  await read();
  hosts['a'] = { ...answering, reachable: false, reason: 'connection refused' };
  hosts['b'] = null;
  delete hosts['c'];
  expect(await read()).toEqual(['bmc_host_up{host="a"} 0', 'bmc_host_up{host="b"} 0']);
});

it('the metrics omit values that the hypervisor does not report', async () => {
  const read = metricsOf({ a: { ...answering, facts: { ...facts, freeMemoryBytes: null, cpuTime: null } } });
  expect((await read()).join()).not.toMatch(/memory_free|cpu_seconds/);
});
