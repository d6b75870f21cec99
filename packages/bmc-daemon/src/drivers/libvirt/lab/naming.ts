/** Compares the names of a command with the machines of the host. */
import { commandLine } from '../../../findings/commands.js';
import { LabError } from './lab-error.js';
import { isOwn, readMachines, type KnownMachine, type LabHost, type OwnMachine } from './lab-host.js';
import { machineNames, type Naming } from './machine-spec.js';
import { dataBytesOf, removeMachine, usesOf, volumesOf } from './remove.js';

/** The names of a command, and the machines of the host that have these names. */
export interface Survey {
  /** All machines of the host except those in `incomplete`. */
  readonly remaining: readonly KnownMachine[];
  /** In the order of their numbers. */
  readonly names: readonly string[];
  /** The complete machines, by name. */
  readonly existing: ReadonlyMap<string, OwnMachine>;
  /** Names without a complete machine. */
  readonly missing: readonly string[];
  /** Machines with these names that an interrupted command has left. */
  readonly incomplete: readonly OwnMachine[];
}

/**
 * Reads the machines of the host for the names of a command.
 * @throws {LabError} if another program has created a machine with one of the names.
 * @throws {DriverError} if libvirt fails.
 */
export async function survey(host: LabHost, naming: Naming): Promise<Survey> {
  const names = machineNames(naming);
  const all = await readMachines(host);
  const wanted = all.filter(({ name }) => names.includes(name));
  const foreign = wanted.filter((known) => !isOwn(known));
  if (foreign.length > 0) {
    throw new LabError(foreign.map(({ name }) => `machine ${name} exists, and bmc-daemon machine did not create it`));
  }
  const own = wanted.filter(isOwn);
  const existing = new Map(own.filter(({ created }) => created.complete).map((known) => [known.name, known]));
  const incomplete = own.filter(({ created }) => !created.complete);
  return {
    remaining: all.filter((known) => !incomplete.some(({ uuid }) => uuid === known.uuid)),
    names,
    existing,
    missing: names.filter((name) => !existing.has(name)),
    incomplete,
  };
}

/**
 * Removes the incomplete machines of a survey. Checks their volumes first, because another program
 * may have created a volume with a planned name.
 * @throws {LabError} if another machine or volume uses one of the volumes, or if the volumes of a machine that is not
 *   a clone contain data. Then no machine is removed.
 * @throws {DriverError} if libvirt fails.
 */
export async function removeIncomplete(host: LabHost, { incomplete, remaining }: Survey): Promise<void> {
  const problems: string[] = [];
  for (const own of incomplete) {
    const { volumes } = await volumesOf(host, own);
    problems.push(...(await usesOf(host, volumes, remaining)));
    // The disks of a clone contain data from their creation on, so this data does not prevent the removal.
    if (own.created.clonedFrom !== null || (await dataBytesOf(volumes, host.timeoutMs)) === 0) continue;
    const { name } = own;
    const remove = commandLine('bmc-daemon', 'machine', 'delete', '--libvirt-uri', host.uri, name);
    problems.push(`machine ${name} is incomplete, and its disks contain data: run "${remove}"`);
  }
  if (problems.length > 0) throw new LabError(problems);
  for (const own of incomplete) await removeMachine(host, own);
}
