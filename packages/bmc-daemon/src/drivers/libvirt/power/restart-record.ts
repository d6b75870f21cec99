/**
 * Records starts and restarts in a machine's metadata, so that the daemon finishes them after it
 * restarts.
 */
import { editRecord, readDefinition, saveRecord } from '../machine/definition.js';
import { isUnavailable } from '../failure.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { dropSavedState, hasSavedState } from '../machine/saved-state.js';
import { withIntent, withoutPowerIntent, type RestartIntent, type StartIntent } from '../xml/metadata/intent-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/**
 * Records that a machine needs a new process. Does nothing for a transient machine, which has no
 * definition. The caller has begun an edit in the queue.
 * @param options force: true: the daemon destroys the process; false: it asks the guest to shut
 *   down.
 * @throws {DriverError}
 */
export async function rememberRestart(
  { hypervisor, timeoutMs }: Host,
  machine: Machine,
  { force }: { readonly force: boolean },
): Promise<void> {
  if (!machine.persistent) return;
  const { xml, instance } = await readDefinition(machine, timeoutMs);
  const intent: StartIntent | RestartIntent =
    instance === null ? { kind: 'start', fresh: true } : { kind: 'restart', instance: instance.id, force };
  const record = readMetadata(xml);
  await saveRecord(hypervisor, machine, xml, { ...record, intents: withIntent(record.intents, intent) }, timeoutMs);
}

/**
 * Does the same as {@link rememberRestart} with `force`.
 * @returns false if libvirt cannot return the definition, because QEMU hangs. The caller tries
 *   again when the machine is off.
 * @throws {DriverError}
 */
export async function tryToRememberRestart(host: Host, machine: Machine): Promise<boolean> {
  try {
    await rememberRestart(host, machine, { force: true });
    return true;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  }
}

/**
 * Removes a saved state, and records that the machine must boot. Ignores a machine without one. The
 * caller has begun an edit in the queue.
 * @throws {DriverError}
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
 * Removes the record of a start or a restart that has ended, or that a newer action replaces. Never
 * rejects. The caller has begun an edit in the queue.
 */
export async function forgetRestart(host: Host, machine: Machine): Promise<void> {
  if (!machine.persistent) return;
  await editRecord(host, machine, (record) => ({
    ...record,
    intents: withoutPowerIntent(record.intents),
  })).catch((error: unknown) => {
    host.log.warn(`removing the restart record of machine ${machine.name} failed`, { error });
  });
}
