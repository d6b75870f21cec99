/**
 * Records starts and restarts in a machine's metadata. If the daemon ends meanwhile, it completes them after
 * its next start.
 */
import { isDriverError } from '../../driver-error.js';
import { editRecord, readDefinition, saveRecord } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { dropSavedState, hasSavedState } from '../machine/saved-state.js';
import { withIntent, withoutPowerIntent, type RestartIntent, type StartIntent } from '../xml/metadata/intent-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/**
 * Records that a machine needs a new QEMU process: a restart if the machine runs, otherwise a start. Does
 * nothing for a transient machine, which has no definition. The caller has begun an edit in the queue.
 * @param options force: true: the daemon destroys the process; false: it asks the guest to shut down.
 * @throws {DriverError} if libvirt cannot return or save the definition.
 */
export async function rememberRestart(
  host: Host,
  machine: Machine,
  { force }: { readonly force: boolean },
): Promise<void> {
  if (!machine.persistent) return;
  const { xml, instance } = await readDefinition(machine, host.timeoutMs);
  const intent: StartIntent | RestartIntent =
    instance === null ? { kind: 'start', fresh: true } : { kind: 'restart', instance: instance.id, force };
  const record = readMetadata(xml);
  await saveRecord(host, machine, xml, { ...record, intents: withIntent(record.intents, intent) });
}

/**
 * Does the same as {@link rememberRestart} with `force`.
 * @returns false if libvirt does not answer, for example because QEMU hangs. The caller tries again when the
 *   machine is off.
 * @throws {DriverError} other failures.
 */
export async function tryToRememberRestart(host: Host, machine: Machine): Promise<boolean> {
  try {
    await rememberRestart(host, machine, { force: true });
    return true;
  } catch (error) {
    if (isDriverError(error, 'unavailable')) return false;
    throw error;
  }
}

/**
 * Records that the machine must boot, then removes its saved state. Ignores a machine without a saved state.
 * The caller has begun an edit in the queue.
 * @throws {DriverError} if libvirt cannot do one of these steps.
 */
export async function discardSavedState(host: Host, machine: Machine): Promise<void> {
  if (!(await hasSavedState(machine, host.timeoutMs))) return;
  await editRecord(host, machine, (record) => ({
    ...record,
    intents: withIntent(record.intents, { kind: 'start', fresh: true }),
  }));
  await dropSavedState(machine, host.timeoutMs);
}

/**
 * Removes the record of a start or a restart that has ended, or that a newer action replaces. Does nothing
 * for a transient machine. Logs a failure, and never rejects. The caller has begun an edit in the queue.
 */
export async function forgetRestart(host: Host, machine: Machine): Promise<void> {
  if (!machine.persistent) return;
  await editRecord(host, machine, (record) => ({
    ...record,
    intents: withoutPowerIntent(record.intents),
  })).catch((error: unknown) => {
    host.log.warn(`removing the record of a start or restart of machine ${machine.name} failed`, { error });
  });
}
