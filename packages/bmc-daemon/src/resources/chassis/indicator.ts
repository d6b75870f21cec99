/** Indicators, as DMTF's deprecated IndicatorLED and as LocationIndicatorActive. */
import { z } from 'zod';
import type { IndicatorState } from '../../drivers/snapshot/hardware-snapshot.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { withPointers, message } from '../../redfish/messages/messages.js';
import type { JsonObject } from '../../redfish/resource.js';
import type { IndicatorLed, InventorySettings } from './configured-inventory.js';

const ledOf = { lit: 'Lit', off: 'Off', blinking: 'Blinking' } as const satisfies Readonly<
  Record<IndicatorState, IndicatorLed>
>;
const stateOf = { Lit: 'lit', Off: 'off', Blinking: 'blinking' } as const satisfies Readonly<
  Record<IndicatorLed, IndicatorState>
>;

/** Returns the indicator of a machine: set by a client, else configured, else lit. */
export function indicatorOf(
  { uuid, indicator }: Pick<SystemSnapshot, 'uuid' | 'indicator'>,
  settings: Pick<InventorySettings, 'indicatorLeds'>,
): IndicatorState {
  return indicator ?? configuredIndicator(uuid, settings) ?? 'lit';
}

/**
 * Returns the indicator from EMULATOR_INDICATOR_LEDS; undefined if the setting does not name the
 * UUID.
 */
export function configuredIndicator(
  uuid: string,
  { indicatorLeds }: Pick<InventorySettings, 'indicatorLeds'>,
): IndicatorState | undefined {
  const led = indicatorLeds[uuid];
  return led === undefined ? undefined : stateOf[led];
}

/**
 * Renders both properties of an indicator. Only blinking is an active location indicator: by
 * default, every machine has a steady light. So this light does not help to find a machine in a rack.
 * @see DSP2046, ComputerSystem, IndicatorLED, LocationIndicatorActive
 */
export function renderIndicator(state: IndicatorState): JsonObject {
  return { IndicatorLED: ledOf[state], LocationIndicatorActive: state === 'blinking' };
}

/** Indicator properties in the body of a PATCH. */
export const indicatorBody = {
  IndicatorLED: z.enum(['Lit', 'Off', 'Blinking']).optional(),
  LocationIndicatorActive: z.boolean().optional(),
};

/** Names of the indicator properties. */
export const indicatorProperties = [
  'IndicatorLED',
  'LocationIndicatorActive',
] as const satisfies readonly (keyof typeof indicatorBody)[];

/**
 * Returns the state that a PATCH requests. Returns undefined if the PATCH has no indicator, or if
 * LocationIndicatorActive already has the requested value.
 * @throws {RedfishError} 400 if the two properties contradict each other.
 */
export function wantedIndicator(
  body: { readonly IndicatorLED?: IndicatorLed | undefined; readonly LocationIndicatorActive?: boolean | undefined },
  current: IndicatorState,
): IndicatorState | undefined {
  const { IndicatorLED: led, LocationIndicatorActive: active } = body;
  if (led !== undefined) {
    if (active !== undefined && active !== (led === 'Blinking')) {
      const fault = message('PropertyValueConflict', 'LocationIndicatorActive', 'IndicatorLED');
      throw new RedfishError(400, [withPointers(fault, '#/LocationIndicatorActive', '#/IndicatorLED')]);
    }
    return stateOf[led];
  }
  if (active === undefined || active === (current === 'blinking')) return undefined;
  return active ? 'blinking' : 'off';
}
