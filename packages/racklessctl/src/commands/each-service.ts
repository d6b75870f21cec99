/** Calls a function for several services, and continues if one of them fails. */
import type { Connection } from '../contexts/connection.js';
import { CommandFailure, exitCode } from '../failure.js';
import { mapConcurrently } from '../redfish/collection.js';
import type { Call } from './command.js';

/**
 * Calls a function for each service. If one of several services fails, reports the failure and
 * continues with the others. At its end, the command has the exit code of the reported failures.
 * @param limit maximum number of services at the same time.
 * @returns the results of the services that did not fail.
 * @throws {CommandFailure} if all services fail, or if the user interrupts the command. Throws after
 *   all running calls have ended.
 * @throws any other error of a call, unchanged.
 */
export async function eachService<Item extends { readonly connection: Connection }, Result>(
  call: Call,
  items: readonly Item[],
  limit: number,
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const fatal: unknown[] = [];
  const results = await mapConcurrently(items, limit, async (item): Promise<readonly Result[]> => {
    if (fatal.length > 0) return [];
    try {
      return [await run(item)];
    } catch (error) {
      const isReported =
        items.length > 1 &&
        error instanceof CommandFailure &&
        // This code means that the user has pressed Ctrl-C at the prompt for a password.
        error.code !== exitCode.interrupted &&
        !call.signal.aborted;
      if (isReported) call.report(`racklessctl: context ${item.connection.name ?? ''}`, error);
      else fatal.push(error);
      return [];
    }
  });
  if (fatal.length > 0) throw fatal[0];
  if (results.every((each) => each.length === 0)) call.end();
  return results.flat();
}
