/**
 * Stores the last known machines of all hosts in the state folder. With this file, a restarted daemon also
 * lists the machines of a host that does not answer. While the daemon serves clients, a write does not block
 * its event loop.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { runAtOnce, runInSlices, type Steps } from '@rackless/daemon/process/slices.js';
import { openStateFile } from '../../state-file.js';
import type { HostRef } from '../hosts-control.js';
import type { HostMember } from './host-member.js';
import { storedMachine, type StoredMachine } from './known-machines.js';

/** Delay of a write after a change. Later changes until the write share it. */
const WRITE_MS = 5_000;

/** Number of machines in one step of a write. Between two steps, other work may run. */
const STEP_MACHINES = 50;

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
  /** Adds a host. Each write stores its machines, until `isServed` returns false. */
  add(member: HostMember, isServed: () => boolean): void;
  /** Schedules a write, because machines have changed. */
  scheduleWrite(): void;
  /** Writes the changes that are not stored yet, before it returns. Logs a failure. */
  close(): void;
}

/** Opens the file. A damaged file is renamed. @throws {StateFileError} if it cannot be read. */
export function openHostStore(folder: string, log: Pick<Log, 'warn' | 'error'>): HostStore {
  const file = openStateFile({ folder, name: 'hosts', schema, initial: { hosts: {} }, log, broken: 'setAside' });
  const members = new Map<HostMember, () => boolean>();
  let timer: NodeJS.Timeout | undefined;
  let written = '';
  let isWriting = false;
  let isClosed = false;

  const listed = (): readonly HostMember[] => [...members.keys()].filter(({ known }) => known.isListed);
  const served = (): readonly HostMember[] => {
    for (const [member, isServed] of members) if (!isServed()) members.delete(member);
    return listed();
  };
  const warn = (error: unknown): void => log.warn('storing the last known machines of the hosts failed', { error });
  const write = async (): Promise<void> => {
    const { hosts, text } = await runInSlices(contentOf(served()));
    // If the store was closed meanwhile, `close` has written newer data.
    if (isClosed || text === written) return;
    await file.replace({ hosts }, text);
    written = text;
  };
  const scheduleWrite = (): void => {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      if (isWriting) {
        // The running write may have passed the changed host already, so the change needs another write.
        scheduleWrite();
        return;
      }
      isWriting = true;
      void write()
        .catch(warn)
        .finally(() => (isWriting = false));
    }, WRITE_MS).unref();
  };
  return {
    machinesOf: ({ name, uri }) => {
      const current = listed().map((member) => [member.name, storedHost(member)] as const);
      const hosts: StoredHosts = { ...file.state.hosts, ...Object.fromEntries(current) };
      if (Object.hasOwn(hosts, name)) return hosts[name]?.machines;
      return Object.values(hosts).find((host) => host.uri === uri)?.machines;
    },
    add: (member, isServed) => void members.set(member, isServed),
    scheduleWrite,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      const { hosts, text } = runAtOnce(contentOf(served()));
      // A running `write` may still replace the file with an older text. So `close` writes even an unchanged text:
      // after this update, the `replace` of the running `write` discards its text.
      if (text === written && !isWriting) return;
      try {
        file.update(() => ({ hosts }));
        written = text;
      } catch (error) {
        warn(error);
      }
    },
  };
}

const storedHost = ({ uri, known }: HostMember): StoredHosts[string] => ({ uri, machines: [...known.stored()] });

/** Returns the content of the file, with one machine in each line, in steps of {@link STEP_MACHINES} machines. */
function* contentOf(members: readonly HostMember[]): Steps<{ readonly hosts: StoredHosts; readonly text: string }> {
  const entries: [string, StoredHosts[string]][] = [];
  const texts: string[] = [];
  for (const member of members) {
    const { name } = member;
    const { uri, machines } = storedHost(member);
    entries.push([name, { uri, machines }]);
    const lines: string[] = [];
    for (const machine of machines) {
      lines.push(JSON.stringify(machine));
      if (lines.length % STEP_MACHINES === 0) yield;
    }
    texts.push(`${JSON.stringify(name)}:{"uri":${JSON.stringify(uri)},"machines":[\n${lines.join(',\n')}\n]}`);
  }
  return { hosts: Object.fromEntries(entries), text: `{"hosts":{\n${texts.join(',\n')}\n}}\n` };
}
