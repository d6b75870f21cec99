/** Starts and restarts that are under way, in a machine's metadata. The next daemon finishes them. */
import { editRecord, readDefinition, saveRecord } from './definition.js';
import { isUnavailable } from './failure.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { withIntent, withoutPowerIntent, type RestartIntent, type StartIntent } from './xml/intent-record.js';
import { readMetadata } from './xml/metadata.js';

/**
 * Records that a machine has to run in a new process. The caller holds the machine's turn in `edits`.
 * @param options force: the process is destroyed; else the guest is asked to shut down.
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
 * As {@link rememberRestart}, for a process that is destroyed.
 * @returns false where a hung QEMU prevents libvirt from giving the definition. libvirt gives it once the machine is off.
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
 * Records that a machine has to boot, and not to resume its saved state. The caller holds its turn in `edits`.
 * @throws {DriverError}
 */
export async function rememberBoot(host: Host, machine: Machine): Promise<void> {
  await editRecord(host, machine, (record) => ({
    ...record,
    intents: withIntent(record.intents, { kind: 'start', fresh: true }),
  }));
}

/**
 * Removes the record: the restart is done, or a client has asked for something else. Never rejects. The caller holds the machine's
 * turn in `edits`.
 */
export async function forgetRestart(host: Host, machine: Machine): Promise<void> {
  if (!machine.persistent) return;
  await editRecord(host, machine, (record) => ({
    ...record,
    intents: withoutPowerIntent(record.intents),
  })).catch((error: unknown) => {
    host.log.warn(`forgetting the restart of machine ${machine.name} failed`, { error });
  });
}
