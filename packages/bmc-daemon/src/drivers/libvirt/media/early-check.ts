/** Checks of a change before its image is downloaded. */
import { instanceOf, readForChange, type Definition } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import type { SystemReader } from '../read/system-reader.js';

/** Dependencies of {@link checkEarly}. */
interface EarlyCheckOptions {
  readonly host: Pick<Host, 'inventory' | 'timeoutMs'>;
  readonly reader: Pick<SystemReader, 'lastReading'>;
}

/**
 * Runs a check with the latest reading of the machine, which this request has usually just made. The latest
 * reading may be outdated. So if the check throws or returns false, or if there is no reading, reads the
 * machine and runs the check on this new reading. The change itself reads the machine again in any case.
 * @param check returns false if there is nothing to download; throws if the change is impossible.
 * @returns the result of `check`.
 * @throws the errors of `check`; {DriverError} notFound, unavailable.
 */
export async function checkEarly(
  { host, reader }: EarlyCheckOptions,
  machine: Machine,
  check: (definition: Definition) => boolean,
): Promise<boolean> {
  const last = reader.lastReading(machine.uuid);
  if (last !== undefined && passes(last, check)) return true;
  return check(await readForChange(host, machine));
}

function passes(
  { inactiveXml, liveXml }: { readonly inactiveXml: string; readonly liveXml: string | null },
  check: (definition: Definition) => boolean,
): boolean {
  try {
    return check({ xml: inactiveXml, instance: liveXml === null ? null : instanceOf(liveXml) });
  } catch {
    return false;
  }
}
