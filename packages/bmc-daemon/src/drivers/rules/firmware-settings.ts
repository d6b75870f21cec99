/**
 * Pure functions for the settings that wait for a machine's next start. All drivers share them.
 */
import { DriverError } from '../driver-error.js';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { StoredValue, MachineSettings, SettingsChange } from '../snapshot/firmware-snapshot.js';

/** Merges two changes. The later one has precedence. */
export function mergeSettings(earlier: SettingsChange, later: SettingsChange): SettingsChange {
  const kept: Readonly<Record<string, StoredValue>> = { ...earlier.kept, ...later.kept };
  return { ...earlier, ...later, ...(Object.keys(kept).length === 0 ? {} : { kept }) };
}

/** Returns the change that reverts a change: the current values of its settings, without unknown values and `kept`. */
export function resetChange(current: MachineSettings, change: SettingsChange): SettingsChange {
  const undone = Object.entries(current).filter(([name, value]) => Object.hasOwn(change, name) && value !== null);
  // The cast is correct: each name is a member of `change`, and no value is null.
  return without(Object.fromEntries(undone) as SettingsChange, 'kept');
}

/** Returns an object without some of its members. */
export function without<T extends object, Name extends keyof T>(object: T, ...names: readonly Name[]): Omit<T, Name> {
  const remaining = Object.entries(object).filter(([name]) => !names.some((other) => other === name));
  return Object.fromEntries(remaining) as Omit<T, Name>; // `remaining` has all members except `names`.
}

/**
 * Checks that the machine supports these settings. The hypervisor may have more limits, which the
 * definition does not show.
 * @throws {DriverError} unsupported, with the reason; the field of the error is the name of the setting.
 */
export function checkSettings(
  machine: Pick<CompleteSnapshot, 'name' | 'machineType' | 'architecture' | 'boot' | 'firmware'>,
  change: SettingsChange,
): void {
  const { name, machineType, architecture, firmware } = machine;
  const reject = (field: Exclude<keyof SettingsChange, 'kept'>, what: string, why: string): never => {
    throw new DriverError('unsupported', `${what} of machine ${name}: ${why}`, { field });
  };
  const nextFirmware = change.firmware ?? firmware.pending.firmware ?? firmware.settings.firmware;
  const x86 = /^(x86_64|i686)$/.test(architecture);
  if (change.firmware === 'bios' && !x86) {
    reject('firmware', 'setting the boot mode', `${architecture} machines have no legacy firmware`);
  }
  if (change.secureBoot === true) {
    if (nextFirmware !== 'efi') reject('secureBoot', 'enabling Secure Boot', 'it boots by legacy BIOS, not by UEFI');
    if (x86 && !machineType.includes('q35')) {
      reject('secureBoot', 'enabling Secure Boot', `it is a ${machineType}, and Secure Boot needs a q35`);
    }
  }
  // A client may send back the value false, which a machine without an interface shows.
  if (change.networkBoot === true && firmware.settings.networkBoot === null) {
    reject('networkBoot', 'enabling the network boot', 'it has no network interface');
  }
  const { settings, limits, fixed = {} } = firmware;
  const sizes = [
    ['cpuCount', 'setting the number of vCPUs', `${limits.cpuCount}`],
    ['memoryMiB', 'setting the memory', `${limits.memoryMiB} MiB`],
  ] as const;
  for (const [field, what, limit] of sizes) {
    const wanted = change[field];
    // A client may send all attributes, also those that it does not change.
    if (wanted === undefined || wanted === settings[field]) continue;
    const why = fixed[field] ?? (wanted > limits[field] ? `its definition allows ${limit}` : undefined);
    if (why !== undefined) reject(field, what, why);
  }
}
