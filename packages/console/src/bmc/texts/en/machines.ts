/** The English texts of the list of machines. */
export const machinesTexts = {
  title: 'Machines',
  count: (count: number) => (count === 1 ? '1 machine' : `${count} machines`),
  table: 'Machines',
  empty: 'This service has no machines',
  emptyHint: 'Machines that libvirt defines appear here at once.',
  failed: 'The machines cannot be read',
  columns: {
    name: 'Name',
    power: 'Power',
    health: 'Health',
    boot: 'Boot override',
    processors: 'CPUs',
    memory: 'Memory',
  },
  power: { On: 'On', Off: 'Off', PoweringOn: 'Powering on', PoweringOff: 'Powering off', Paused: 'Paused' },
  unknown: 'Unknown',
  bootOnce: (target: string) => `${target}, once`,
  ownOrder: 'Own order',
  gib: (size: number) => `${size} GiB`,
};
