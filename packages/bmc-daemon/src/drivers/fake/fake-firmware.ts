/**
 * Pure functions for the firmware of machines in memory, with the rules of the libvirt driver: the
 * next start applies pending settings.
 */
import { mergeBootOverride, untouchedOverride } from '../rules/boot-override.js';
import { DriverError } from '../driver-error.js';
import type { BootChange, BootSnapshot } from '../snapshot/boot-snapshot.js';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { DeviceKey, FirmwareSnapshot, SettingsChange } from '../snapshot/firmware-snapshot.js';
import { without } from '../rules/firmware-settings.js';
import type { SecureBootMode } from '../system-change.js';

type Change = Partial<CompleteSnapshot>;

/**
 * Returns the new values of the members that a change of the boot settings affects.
 * @throws {DriverError} invalid, for a target that is a kind of device which the machine does not have.
 */
export function afterBootChange(machine: CompleteSnapshot, change: BootChange): Change {
  const { boot } = machine;
  const { target, firmware } = change;
  const targets: readonly string[] = [...boot.available, 'none', 'http', 'path', 'next'];
  if (target !== undefined && !targets.includes(target)) {
    throw new DriverError('invalid', `setting the boot target: the machine has no ${target} device`, {
      field: 'bootTarget',
    });
  }
  const merged: BootSnapshot = { ...withoutOverride(boot), ...mergeBootOverride(boot, change) };
  const changed = withFirstDevice(merged);
  if (firmware === undefined) return { boot: changed };
  // The boot mode changes at once, and the change replaces a pending change of the boot mode.
  const pending = without(machine.firmware.pending, 'firmware');
  return afterSettings({ ...machine, boot: changed, firmware: { ...machine.firmware, pending } }, { firmware });
}

function withFirstDevice(boot: BootSnapshot): BootSnapshot {
  const first = boot.option ?? boot.order[0];
  return { ...boot, firstDevicePath: boot.options.find(({ key }) => key === first)?.path ?? null };
}

/**
 * Returns the boot settings without the optional members of an override. Call this before the members of a
 * new override are added. The new override omits members that no longer apply, so their old values would
 * otherwise remain.
 */
export function withoutOverride(boot: BootSnapshot): BootSnapshot {
  return without(boot, 'option', 'httpUri');
}

/** Returns the new values of the members that a start changes: the start applies the pending settings. */
export function afterFirmwareStart(machine: CompleteSnapshot): Change {
  const applied = afterSettings(machine, machine.firmware.pending);
  const firmware = { ...machine.firmware, ...applied.firmware, pending: {}, failure: null };
  const { secureBoot } = firmware;
  return {
    ...applied,
    firmware: { ...firmware, secureBoot: secureBoot && { ...secureBoot, current: secureBoot.enabled } },
  };
}

/** Returns the new values of the members that a stop changes: without a run, Secure Boot has no current state. */
export function afterFirmwareStop({
  firmware,
}: Pick<CompleteSnapshot, 'firmware'>): Pick<CompleteSnapshot, 'firmware'> {
  return { firmware: { ...firmware, secureBoot: firmware.secureBoot && { ...firmware.secureBoot, current: null } } };
}

/**
 * Restores Secure Boot of the current run, if the boot mode of a running machine was changed to
 * BIOS and back. A change of the definition does not affect the run.
 * @param atStart Secure Boot at the start of the run; undefined: the run has no UEFI.
 */
export function withCurrentRun(machine: CompleteSnapshot, atStart: boolean | undefined): CompleteSnapshot {
  const { firmware, state } = machine;
  const { secureBoot } = firmware;
  if (atStart === undefined || state === 'shutoff' || secureBoot?.current !== null) return machine;
  return { ...machine, firmware: { ...firmware, secureBoot: { ...secureBoot, current: atStart } } };
}

/**
 * Returns the new values of the members that a change of the boot order affects.
 * @throws {DriverError} invalid, for a device that the machine does not have.
 */
export function afterOrderChange(
  { boot, firmware, interfaces }: Pick<CompleteSnapshot, 'boot' | 'firmware' | 'interfaces'>,
  keys: readonly DeviceKey[],
  { hasOverride }: { readonly hasOverride: boolean },
): Change {
  const unknown = keys.find((key) => !boot.options.some((option) => option.key === key));
  if (unknown !== undefined) {
    throw new DriverError('invalid', `setting the boot order: the machine has no device ${unknown}`, {
      field: 'bootOrder',
    });
  }
  const [card] = interfaces;
  const networkBoot = card === undefined ? null : keys.includes(`interface:${card.mac}`);
  const first = boot.options.find(({ key }) => key === keys[0])?.kind ?? 'none';
  // Until a client sets an override, the snapshot shows the first device of the order as override.
  const override = hasOverride ? {} : untouchedOverride(first);
  return {
    boot: withFirstDevice({ ...boot, ...override, order: keys }),
    firmware: { ...firmware, settings: { ...firmware.settings, networkBoot } },
  };
}

/** Returns the new values of the members that a change of Secure Boot affects. */
export function afterSecureBootChange({ firmware }: CompleteSnapshot, mode: SecureBootMode): Change {
  const enabled = mode === 'on';
  const secureBoot = { enabled, enrolled: enabled, current: firmware.secureBoot?.current ?? null };
  return {
    firmware: {
      ...firmware,
      secureBoot,
      settings: { ...firmware.settings, secureBoot: enabled },
      pending: without(firmware.pending, 'secureBoot'),
    },
  };
}

/** Returns the new values of the members that a change of settings affects. */
function afterSettings(
  machine: CompleteSnapshot,
  change: SettingsChange,
): Change & { readonly firmware: FirmwareSnapshot } {
  const { boot, firmware } = machine;
  const settings = {
    ...firmware.settings,
    ...change,
    networkBoot: firmware.settings.networkBoot === null ? null : (change.networkBoot ?? firmware.settings.networkBoot),
    kept: { ...firmware.settings.kept, ...change.kept },
  };
  const efi = settings.firmware === 'efi';
  const secure = efi ? (settings.secureBoot ?? false) : null;
  const current = firmware.secureBoot?.current ?? null;
  const first = boot.options.find(({ kind }) => kind === 'network')?.key;
  const order =
    first === undefined || change.networkBoot === undefined || boot.order.includes(first) === change.networkBoot
      ? boot.order
      : change.networkBoot
        ? [...boot.order, first]
        : boot.order.filter((key) => key !== first);
  return {
    boot: { ...boot, firmware: settings.firmware ?? boot.firmware, order },
    firmware: {
      ...firmware,
      settings: { ...settings, secureBoot: secure },
      secureBoot: secure === null ? null : { enabled: secure, current, enrolled: secure },
    },
    processors: { ...machine.processors, count: settings.cpuCount },
    memoryKiB: settings.memoryMiB * 1024,
  };
}
