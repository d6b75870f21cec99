/**
 * Stores the last known machines of all hosts in the state folder. With it, a restarted daemon also
 * lists the machines of a host that does not answer.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { openStateFile } from '../../state-file.js';
import type { HostRef } from '../hosts-control.js';
import type { HostMember } from './host-member.js';
import { storedMachine, type StoredMachine } from './known-machines.js';

/** Time between a change and the write. */
const WRITE_MS = 5_000;

const schema = z.object({
  /** The hosts by name. */
  hosts: z.record(z.string(), z.object({ uri: z.string(), machines: z.array(storedMachine) })),
});

type StoredHosts = z.infer<typeof schema>['hosts'];

/** Stores the last known machines of all hosts in the state folder. */
export interface HostStore {
  /**
   * Returns the last known machines of the host with this name, or else with this URI: an operator
   * can change the name or the URI. Undefined if the machines of such a host were never listed.
   */
  machinesOf(host: HostRef): readonly StoredMachine[] | undefined;
  /** Stores the machines of a host until `isServed` returns false. */
  add(member: HostMember, isServed: () => boolean): void;
  /** Schedules a write, because machines have changed. */
  changed(): void;
  /** Writes the changes that are not stored yet. */
  close(): void;
}

/** Opens the file. A damaged file is renamed. @throws {StateFileError} if it cannot be read. */
export function openHostStore(folder: string, log: Pick<Log, 'warn' | 'error'>): HostStore {
  const file = openStateFile({ folder, name: 'hosts', schema, initial: { hosts: {} }, log, broken: 'setAside' });
  const members = new Map<HostMember, () => boolean>();
  let timer: NodeJS.Timeout | undefined;
  let written = JSON.stringify(file.state);

  const listedHosts = (): StoredHosts => {
    const listed = [...members.keys()].filter(({ known }) => known.isListed);
    return Object.fromEntries(listed.map(({ name, uri, known }) => [name, { uri, machines: [...known.stored()] }]));
  };
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const [member, isServed] of members) if (!isServed()) members.delete(member);
    const next = { hosts: listedHosts() };
    const text = JSON.stringify(next);
    if (text === written) return;
    try {
      file.update(() => next);
      written = text;
    } catch (error) {
      log.warn('storing the last known machines of the hosts failed', { error });
    }
  };
  return {
    machinesOf: ({ name, uri }) => {
      const hosts = { ...file.state.hosts, ...listedHosts() };
      if (Object.hasOwn(hosts, name)) return hosts[name]?.machines;
      return Object.values(hosts).find((host) => host.uri === uri)?.machines;
    },
    add: (member, isServed) => void members.set(member, isServed),
    changed: () => {
      timer ??= setTimeout(write, WRITE_MS).unref();
    },
    close: write,
  };
}
