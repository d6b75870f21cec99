/** Decides whether a restart of a machine needs a new QEMU process. */
import { onceDevice } from '../machine/boot-edit.js';
import type { Instance } from '../machine/instance.js';
import { readProcess } from '../machine/process-record.js';
import type { DefinitionValues } from '../xml/definition-edit.js';
import { bootableDevices, deviceKeys, effectiveBootOrder, isSameOrder } from '../xml/os/boot-order.js';

/**
 * Returns whether the definition or its record has settings that the QEMU process of the instance does not
 * use. These are a boot order, firmware, a reset of the UEFI variables, new devices, pending settings, or a staged
 * firmware version.
 * @param resetUsesOnceOrder whether a reset is enough for a one-time order that this QEMU already
 *   has. False: a one-time order always needs a new process.
 */
export function needsNewProcess(
  { domain: defined, record }: DefinitionValues,
  instance: Instance,
  { resetUsesOnceOrder }: { readonly resetUsesOnceOrder: boolean },
): boolean {
  const processRecord = readProcess(instance);
  if (onceDevice(record) !== null && (!resetUsesOnceOrder || (processRecord?.armed ?? null) === null)) return true;
  const running = instance.domain;
  const loader = defined.os.loader?.path ?? null;
  const { resetNvram, settings, owner } = record;
  if (resetNvram || defined.firmware !== running.firmware) return true;
  // A staged firmware version needs a new process, because a restarted daemon can recognize a new process,
  // but not a reset of the old one.
  if ((owner?.firmwareUpdate?.staged ?? null) !== null) return true;
  if (settings !== null && Object.keys(settings.pending).length > 0) return true;
  if (loader !== null && loader !== running.os.loader?.path) return true;
  // Ignores additional devices of the running guest, because a new process would lose a device that
  // the user has plugged in for this run only.
  const plugged = new Set(bootableDevices(running.devices).map(({ key }) => key));
  if (bootableDevices(defined.devices).some(({ key }) => !plugged.has(key))) return true;
  const current = processRecord?.order ?? deviceKeys(effectiveBootOrder(running));
  return !isSameOrder(current, deviceKeys(effectiveBootOrder(defined)));
}
