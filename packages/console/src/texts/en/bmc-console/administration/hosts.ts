/** The names of the load sensors, by their Redfish Id. */
const sensors: Readonly<Record<string, string>> = { ProcessorUtilization: 'Processors', MemoryUtilization: 'Memory' };

/** The English texts of the hosts. */
export const hostsTexts = {
  title: 'Hosts',
  columns: {
    name: 'Host',
    state: 'State',
    hypervisor: 'Hypervisor',
    machines: 'Machines',
    processors: 'Processors',
    memory: 'Memory',
    load: 'Load',
  },
  unreachable: 'Not reachable',
  gib: (gib: number) => `${gib} GiB`,
  sensors,
  load: (sensor: string, percent: number) => `${sensors[sensor] ?? sensor} ${percent} %`,
  empty: 'No hosts',
  emptyHint: 'This service does not show the hosts of its machines, for example because they are in a cloud.',
};
