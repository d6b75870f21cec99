/** `Status` objects, and the power state behind them. */
import type { SystemSnapshot } from '../drivers/driver.js';
import type { JsonObject } from '../redfish/resource.js';
import { resourceEventRegistry, resourceEventTable } from '../redfish/resource-event-registry.js';

/** A part that is there and works. The roll-up is left out: the part has no parts of its own. */
export const enabled: JsonObject = { State: 'Enabled', Health: 'OK' };

/** A part that a virtual machine does not have: no Health, for there is nothing that could be well. */
export const absent: JsonObject = { State: 'Absent' };

/** A part that the machine gets with its next power-on. */
export const waiting: JsonObject = { State: 'StandbyOffline', Health: 'OK' };

/** A part that is to be there, and is not. */
export const unavailable: JsonObject = { State: 'UnavailableOffline', Health: 'Critical' };

/** A whole whose parts are well, too. */
export const enabledWithParts: JsonObject = { ...enabled, HealthRollup: 'OK' };

/** What power and status are told from. */
type Condition = Pick<SystemSnapshot, 'name' | 'state' | 'failure' | 'starting' | 'unansweredSince'>;

/**
 * The machine as a whole: Enabled whether on or off, as the specification's table has it. Critical when its guest, its process or a
 * disk broke down, until it is started again. Warning while the hypervisor does not answer for it.
 */
export function systemStatus({ name, state, failure, unansweredSince }: Condition): JsonObject {
  const isBroken = state === 'crashed' || (failure ?? null) !== null;
  if (!isBroken && unansweredSince === undefined) return enabledWithParts;
  const health = isBroken ? 'Critical' : 'Warning';
  const status = { State: 'Enabled', Health: health, HealthRollup: health };
  return unansweredSince === undefined ? status : { ...status, Conditions: [unanswered(name, unansweredSince)] };
}

/** A member of `Status.Conditions`. */
function unanswered(name: string, since: Date): JsonObject {
  const { severity, text } = resourceEventTable.ResourceStatusChangedWarning;
  const health = text.replace('%1', name).replace('%2', severity);
  return {
    MessageId: `${resourceEventRegistry}.ResourceStatusChangedWarning`,
    MessageArgs: [name, severity],
    Message: `${health} The hypervisor does not answer for this machine. This is its last reading.`,
    Severity: severity,
    Resolution: 'If the machine hangs, ForceOff and ForceRestart end its process.',
    Timestamp: since.toISOString(),
  };
}

/**
 * On for whatever has a QEMU process, a guest that sleeps or crashed included. PoweringOff is a guest that has finished and whose
 * process is about to go; one that was asked to shut down may yet refuse, so it is On. PoweringOn is a guest that is held back while
 * it is being started. The words are DMTF's, which sushy knows, too.
 */
export function powerState({
  state,
  starting,
}: Pick<Condition, 'state' | 'starting'>): 'On' | 'Off' | 'PoweringOn' | 'PoweringOff' | 'Paused' {
  if (starting === true) return 'PoweringOn';
  if (state === 'shutoff') return 'Off';
  if (state === 'shutdown') return 'PoweringOff';
  return state === 'paused' ? 'Paused' : 'On';
}
