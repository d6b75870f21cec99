/** What a start and a stop leave of a machine in memory, beside its power and its firmware. */
import type { SystemSnapshot } from '../driver.js';
import { afterUpdate } from '../firmware-update.js';

/** What is over with the end of a process. */
export function afterFailure({ failure }: SystemSnapshot): Partial<SystemSnapshot> {
  return failure === undefined ? {} : { failure: null };
}

/** What a start makes of it. */
export function ownershipAfterStart(machine: SystemSnapshot): Partial<SystemSnapshot> {
  const { firmwareUpdate } = machine;
  return {
    ...afterFailure(machine),
    ...(firmwareUpdate === undefined ? {} : { firmwareUpdate: afterUpdate(firmwareUpdate) }),
  };
}
