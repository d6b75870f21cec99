/** Updates the daemon's record and the definition of a machine after a start. */
import { afterUpdate } from '../../rules/firmware-update.js';
import { bootRecordAfterBoot, withoutVariablesReset } from '../machine/boot-edit.js';
import type { DefinitionEdit } from '../xml/definition-edit.js';
import { powerIntent, withoutPowerIntent } from '../xml/metadata/intent-record.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';
import { restoreBootOrder } from '../xml/os/boot-order-edit.js';

/** The outcome of a start. */
export interface StartOutcome {
  /** Whether this boot uses the one-time order. */
  readonly onceUsed: boolean;
  /**
   * Whether the guest boots. A guest that libvirt restores from a saved state does not boot. It continues
   * with its UEFI variables and its firmware.
   */
  readonly booted: boolean;
}

/**
 * Replaces a one-time order in the definition with the machine's own order. The definition contains such an
 * order only during a start without a monitor (see `ColdStart`).
 * @throws {DriverError} internal, for a saved order that is not XML; conflict, if a newer version of the daemon
 *   has written the record in a newer format.
 */
export function removeOnceOrder(edit: DefinitionEdit, { onceUsed }: Pick<StartOutcome, 'onceUsed'>): void {
  const { boot } = edit.record;
  if (boot?.enabled !== 'once' || boot.saved === null) return;
  restoreBootOrder(edit, boot.saved);
  edit.setRecord({ ...edit.record, boot: { ...(onceUsed ? bootRecordAfterBoot(boot) : boot), saved: null } });
}

/**
 * Returns the record after the installation of a staged firmware update; the same object if none
 * was staged.
 */
export function withFirmwareInstalled(record: MachineRecord): MachineRecord {
  const update = record.owner?.firmwareUpdate;
  return update?.staged ? { ...record, owner: { ...record.owner, firmwareUpdate: afterUpdate(update) } } : record;
}

/** Returns the record after a start; the same object if the start changes nothing. */
export function recordAfterStart(record: MachineRecord, { onceUsed, booted }: StartOutcome): MachineRecord {
  let result = booted ? withFirmwareInstalled(withoutVariablesReset(record)) : record;
  if (record.boot !== null && onceUsed) result = { ...result, boot: bootRecordAfterBoot(record.boot) };
  if (powerIntent(record.intents) === null) return result;
  return { ...result, intents: withoutPowerIntent(record.intents) };
}
