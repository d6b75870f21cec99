/** Lists the disk sources that the machines of a host use. */
import { machineTexts } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import { readDomain } from '../xml/domain.js';

/**
 * Returns `DiskSource.name` of every disk in a definition, a running instance or a saved state.
 * @throws {DriverError} if a machine cannot be read, because an image may be deleted only if it is
 *   certainly unused.
 */
export async function sourcesInUse({
  inventory,
  timeoutMs,
}: Pick<Host, 'inventory' | 'timeoutMs'>): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (const machine of await inventory.list()) {
    for (const text of await machineTexts(machine, timeoutMs)) {
      for (const { source } of readDomain(text).devices.disks) if (source.name !== null) used.add(source.name);
    }
  }
  return used;
}
