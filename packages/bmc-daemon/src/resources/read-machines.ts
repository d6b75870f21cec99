/** Reads the machines of an answer. A machine that cannot be read does not break the answer. */
import { isDriverError, type DriverError } from '../drivers/driver-error.js';
import type { SystemDetails, SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import { toRedfishError } from '../redfish/messages/driver-errors.js';
import { unreadMessages, type Message } from '../redfish/messages/messages.js';
import type { Services } from './services.js';

/** Number of parallel reads. Each batch of reads costs a timeout if the host does not answer. */
const readsAtOnce = 32;

/** The machines that could be read, and messages about the others. */
interface ReadMachines {
  readonly systems: readonly SystemSnapshot[];
  readonly unread: readonly Message[];
}

/** Options of {@link readMachines}. */
interface ReadMachinesOptions {
  /** The part of the answer that comes from the machines, such as `the drives`, for the messages. */
  readonly part: string;
  /** As in {@link HypervisorDriver.getSystem}. */
  readonly shown?: readonly (keyof SystemDetails)[];
}

/**
 * Reads machines, a few at a time. Leaves out machines that were removed meanwhile. Logs the first failure. If a whole
 * batch is unavailable, does not read the rest.
 * @throws {DriverError} unavailable, if a whole batch is unavailable before any machine could be read.
 */
export async function readMachines(
  uuids: readonly string[],
  { driver, log }: Pick<Services, 'driver' | 'log'>,
  { part, shown }: ReadMachinesOptions,
): Promise<ReadMachines> {
  const systems: SystemSnapshot[] = [];
  const failures = new Map<string, unknown>();
  let silent: DriverError | undefined;
  for (let start = 0; start < uuids.length; start += readsAtOnce) {
    const batch = uuids.slice(start, start + readsAtOnce);
    const reads = batch.map((uuid) => (silent === undefined ? driver.getSystem(uuid, shown) : Promise.reject(silent)));
    const outcomes = await Promise.allSettled(reads);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') systems.push(outcome.value);
      else if (!isDriverError(outcome.reason, 'notFound')) failures.set(batch[index] ?? '', outcome.reason);
    }
    silent = unavailabilityOf(outcomes);
    if (silent !== undefined && systems.length === 0) throw silent;
  }
  const [first] = failures;
  if (first !== undefined) {
    log.warn('machines could not be read for an answer', { count: failures.size, machine: first[0], error: first[1] });
  }
  const unread = [...failures].flatMap(([uuid, error]) => {
    const path = `/redfish/v1/Systems/${uuid}`;
    return unreadMessages(`${part} of '${path}'`, toRedfishError(error, { path }).messages);
  });
  return { systems, unread };
}

/** Returns the error if each read failed because the host is unavailable. */
function unavailabilityOf(outcomes: readonly PromiseSettledResult<SystemSnapshot>[]): DriverError | undefined {
  const errors = outcomes.map((outcome): unknown => (outcome.status === 'rejected' ? outcome.reason : undefined));
  return errors.every((error) => isDriverError(error, 'unavailable')) ? errors[0] : undefined;
}

/** Returns the machine; undefined if it does not exist. @throws {DriverError} the other errors of the driver. */
export async function ifExists(machine: Promise<SystemSnapshot>): Promise<SystemSnapshot | undefined> {
  try {
    return await machine;
  } catch (error) {
    if (isDriverError(error, 'notFound')) return undefined;
    throw error;
  }
}
