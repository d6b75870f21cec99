/** Makes the machines of the entries of a machine file. */
import type { FakeSystem } from '../../config/rows/fake-systems.js';
import type { MachinePlan, PlannedFailure } from '../../drivers/fake/fake-plan.js';
import type { CompleteSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { machineOf } from '../fake-systems.js';
import { MAX_MACHINES, type FileDelays, type FileEntry, type MachineMembers } from './file-schema.js';
import { hasNumber, macOf, uuidOfName, withNumber } from './machine-identity.js';
import { delaysOf, failuresOf } from './planned-failures.js';

/** The machines of a file. */
export interface FileMachines {
  /** The machines in the form of EMULATOR_FAKE_SYSTEMS, which the external notifier sends. */
  readonly systems: readonly FakeSystem[];
  readonly machines: readonly CompleteSnapshot[];
  /** Delays and failures by UUID. */
  readonly plans: ReadonlyMap<string, MachinePlan>;
}

type EntryPath = readonly PropertyKey[];

interface ExpandOptions {
  /** Delays and failures of all machines. */
  readonly delays: FileDelays;
  readonly failures: readonly PlannedFailure[];
  /** Called for each fault. @param path below the list of machines. */
  readonly onFault: (path: EntryPath, message: string) => void;
}

/** Delays and failures before they become a plan. */
interface Schedule {
  readonly delays: FileDelays;
  readonly failures: readonly PlannedFailure[];
}

/**
 * Makes all machines, and reports the faults that concern several members or machines. Makes no machine if the
 * file has more than {@link MAX_MACHINES}.
 */
export function expandEntries(entries: readonly FileEntry[], options: ExpandOptions): FileMachines {
  const { onFault } = options;
  const systems: FakeSystem[] = [];
  const machines: CompleteSnapshot[] = [];
  const plans = new Map<string, MachinePlan>();
  const claim = duplicateReporter(onFault);
  let total = 0;
  for (const [index, entry] of entries.entries()) {
    total += entry.count ?? 1;
    if (total > MAX_MACHINES) {
      onFault([index], `exceeds the maximum of ${MAX_MACHINES} machines in a file`);
      return { systems: [], machines: [], plans };
    }
    if (!checkEntry(entry, (member, message) => onFault([index, member], message))) continue;
    const schedule = scheduleOf(options, entry, [index]);
    const plan = planOf(schedule);
    const { overrides = {}, first = 1, count = 1 } = entry;
    const unused = new Set(Object.keys(overrides));
    for (let number = first; number < first + count; number += 1) {
      const name = withNumber(entry.name, number);
      const override = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
      unused.delete(name);
      const path = override === undefined ? [index] : [index, 'overrides', name];
      const machine = { ...entry, ...override };
      const system = systemOf(machine, name);
      claim(path, system);
      systems.push(system);
      machines.push(machineOf(system, hardwareOf(machine, number)));
      const own = override === undefined ? plan : planOf(scheduleOf(schedule, override, path));
      if (own !== undefined) plans.set(system.uuid, own);
    }
    for (const name of unused) onFault([index, 'overrides', name], 'is not the name of a machine of this entry');
  }
  return { systems, machines, plans };
}

/** Checks members that depend on each other. @returns false if the entry cannot be expanded. */
function checkEntry({ name, uuid, count }: FileEntry, onFault: (member: string, message: string) => void): boolean {
  if (count === undefined) return true;
  if (!hasNumber(name)) {
    onFault('name', 'must contain {n}, the number of the machine, because the entry has a count');
    return false;
  }
  if (uuid === undefined) return true;
  onFault('uuid', 'is for an entry without count; use overrides for one of several machines');
  return false;
}

/** Returns a function that reports a name, a UUID or a MAC address that two machines have. */
function duplicateReporter(onFault: ExpandOptions['onFault']): (path: EntryPath, system: FakeSystem) => void {
  const owners = new Map<string, string>();
  return (path, { name, uuid, nics = [] }) => {
    const keys = [`name ${name}`, `UUID ${uuid}`, ...nics.map(({ mac }) => `MAC address ${mac}`)];
    const taken = keys.find((key) => owners.has(key));
    if (taken !== undefined)
      onFault(path, `makes a second machine with the ${taken}: machine ${owners.get(taken)} already has it`);
    for (const key of keys) owners.set(key, name);
  };
}

function systemOf(machine: MachineMembers, name: string): FakeSystem {
  const uuid = (machine.uuid ?? uuidOfName(name)).toLowerCase();
  const { nics = 1, power_state, boot_mode, boot_device, secure_boot, external_notifier } = machine;
  return {
    uuid,
    name,
    nics:
      typeof nics === 'number'
        ? Array.from({ length: nics }, (_, index) => ({ mac: macOf(uuid, index) }))
        : nics.map(({ mac, ip }) => ({ mac: mac.toLowerCase().replaceAll('-', ':'), ip })),
    power_state,
    boot_mode,
    boot_device,
    secure_boot,
    external_notifier,
  };
}

function hardwareOf(machine: MachineMembers, number: number): Parameters<typeof machineOf>[1] {
  const { cpus, memory_mib: memoryMib, disks_gib: disksGib, manufacturer, model, serial_number: serial } = machine;
  return {
    cpus,
    memoryMib,
    disksGib,
    manufacturer,
    model,
    serial: serial === undefined ? undefined : withNumber(serial, number),
  };
}

/**
 * Returns a schedule with the delays and failures of an entry or an override added. An added delay replaces the delay
 * with the same name. The added failures come before the failures of the given schedule.
 */
function scheduleOf(schedule: Schedule, { delays, failures = [] }: MachineMembers, path: EntryPath): Schedule {
  return {
    delays: { ...schedule.delays, ...delays },
    failures: [...failuresOf(failures, ['machines', ...path, 'failures']), ...schedule.failures],
  };
}

function planOf({ delays, failures }: Schedule): MachinePlan | undefined {
  const planned = delaysOf(delays);
  return Object.keys(planned).length === 0 && failures.length === 0 ? undefined : { delays: planned, failures };
}
