/**
 * Changes entries of the shared store. Other replicas, possibly of another version, change the same
 * entries.
 */
import type { z } from 'zod';
import type { StoredEntry } from '@rackless/daemon/shared-store/entries.js';
import { ChangeRefused } from '@rackless/daemon/shared-store/store-unavailable.js';

const MAX_ATTEMPTS = 5;

/**
 * Runs a change. Retries it while other replicas store their changes first.
 * @param what the entry, for messages, such as `the subscriptions`.
 * @param attempt returns undefined if another replica stored a change first.
 * @throws {ChangeRefused} after {@link MAX_ATTEMPTS} attempts; what an attempt throws.
 */
export async function repeatUntilStored<Result>(
  what: string,
  attempt: () => Promise<{ readonly result: Result } | undefined>,
): Promise<Result> {
  for (let count = 1; count <= MAX_ATTEMPTS; count += 1) {
    const outcome = await attempt();
    if (outcome !== undefined) return outcome.result;
  }
  throw new ChangeRefused(`changing ${what}: other replicas change this at the same time`);
}

/**
 * Returns the value of an entry; undefined if there is no entry.
 * @param what as for {@link repeatUntilStored}.
 * @throws {ChangeRefused} if its form is unknown. A change would destroy what another version has
 *   stored.
 */
export function readEntry<Value>(
  what: string,
  entry: StoredEntry | undefined,
  schema: z.ZodType<Value>,
): Value | undefined {
  if (entry === undefined) return undefined;
  const { data } = schema.safeParse(entry.value);
  if (data === undefined) throw unreadableError(what);
  return data;
}

/** Returns the error for an entry that this version cannot read. */
export function unreadableError(what: string): ChangeRefused {
  return new ChangeRefused(`another version of the service has stored ${what} in a form that this replica cannot read`);
}
