/** `Status` objects, and the power state behind them. */
import type { DomainState } from '../drivers/driver.js';
import type { JsonObject } from '../redfish/resource.js';

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

/** The machine as a whole: Enabled whether on or off, as the specification's table has it; Critical when its guest crashed. */
export function systemStatus(state: DomainState): JsonObject {
  if (state !== 'crashed') return enabledWithParts;
  return { State: 'Enabled', Health: 'Critical', HealthRollup: 'Critical' };
}

/**
 * On for whatever has a QEMU process, a guest that is on its way down or suspended included: what clients wait for is Off.
 * A paused one is neither, and DMTF's enumeration has a word for it, which sushy knows, too.
 */
export function powerState(state: DomainState): 'On' | 'Off' | 'Paused' {
  if (state === 'shutoff') return 'Off';
  return state === 'paused' ? 'Paused' : 'On';
}
