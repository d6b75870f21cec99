/** Decides which machines an action changes, and which it skips. */
import { resetTypes, type Drive } from '../../../redfish/machine-facts.js';
import type { Machine } from '../../../redfish/machines.js';
import { bulkTexts } from '../../../../texts/index.js';

/** The actions, in the order of their buttons. */
const bulkActions = ['On', 'GracefulShutdown', 'ForceRestart', 'ForceOff', 'boot', 'eject'] as const;

/** An action on several machines. The first four are reset types of Redfish. */
export type BulkAction = (typeof bulkActions)[number];

/** A machine that the action skips, with the reason. */
export interface Skipped {
  readonly machine: Machine;
  readonly reason: string;
}

/** The plan of an action. */
export interface Plan {
  readonly changed: readonly Machine[];
  readonly skipped: readonly Skipped[];
}

const { reasons } = bulkTexts;

/** Targets of a boot override that need no further value, such as a URL. */
const SIMPLE_TARGETS = ['Pxe', 'Hdd', 'Cd', 'Usb', 'Floppy', 'BiosSetup'];

/** Returns the members of `SIMPLE_TARGETS` that a machine offers. */
export function bootTargets({ Boot }: Machine): readonly string[] {
  const offered = Boot?.['BootSourceOverrideTarget@Redfish.AllowableValues'] ?? [];
  return SIMPLE_TARGETS.filter((target) => offered.includes(target));
}

/**
 * Returns the actions that the user may perform, and that at least one of the machines offers. Exception: `eject`
 * needs no such machine, because the drives may not be known yet.
 * @param may whether the user's role has a privilege.
 */
export function offeredActions(
  machines: readonly Machine[],
  may: (privilege: 'ConfigureComponents' | 'ConfigureManager') => boolean,
): readonly BulkAction[] {
  return bulkActions.filter((action) => {
    if (action === 'eject') return machines.length > 0 && may('ConfigureManager');
    if (!may('ConfigureComponents')) return false;
    return machines.some((machine) =>
      action === 'boot' ? machine.Boot !== undefined : resetTypes(machine).includes(action),
    );
  });
}

/**
 * Returns the plan of an action.
 * @param drives the drives of each machine. A machine without an entry, whose drives are not known
 *   yet, is not skipped.
 */
export function planOf(
  action: BulkAction,
  machines: readonly Machine[],
  drives: ReadonlyMap<string, readonly Drive[]>,
): Plan {
  const reasoned = machines.map((machine) => ({ machine, reason: skipReason(action, machine, drives) }));
  return {
    changed: reasoned.filter(({ reason }) => reason === null).map(({ machine }) => machine),
    skipped: reasoned.flatMap(({ machine, reason }) => (reason === null ? [] : [{ machine, reason }])),
  };
}

function skipReason(
  action: BulkAction,
  machine: Machine,
  drives: ReadonlyMap<string, readonly Drive[]>,
): string | null {
  if (action === 'boot') return machine.Boot === undefined ? reasons.notOffered : null;
  if (action === 'eject') {
    const known = drives.get(machine.Id);
    return known === undefined || known.some(({ Inserted }) => Inserted === true) ? null : reasons.noImage;
  }
  if (!resetTypes(machine).includes(action)) return reasons.notOffered;
  const { PowerState: power } = machine;
  if (action === 'On') return power === 'On' ? reasons.alreadyOn : null;
  if (power !== 'Off') return null;
  return action === 'ForceRestart' ? reasons.isOff : reasons.alreadyOff;
}
