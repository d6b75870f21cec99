/** What the machines of a host have in their drives and disks. */
import { machineTexts } from './definition.js';
import type { Host } from './host.js';
import { readDomain } from './xml/domain.js';

/**
 * `DiskSource.name` of everything that any machine has, runs with, or was saved with.
 * @throws {DriverError} where one of them can not be read: what is not known to be unused may not be deleted.
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
