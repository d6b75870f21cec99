/** Indicators: a lamp that is lit, off or blinking, in DMTF's old words and in its new one. */
import { z } from 'zod';
import type { IndicatorState, SystemSnapshot } from '../drivers/driver.js';
import { RedfishError } from '../redfish/errors.js';
import { about, message } from '../redfish/messages.js';
import type { JsonObject } from '../redfish/resource.js';
import type { IndicatorLed, InventorySettings } from './configured-inventory.js';

const out = { lit: 'Lit', off: 'Off', blinking: 'Blinking' } as const satisfies Readonly<
  Record<IndicatorState, IndicatorLed>
>;
const into = { Lit: 'lit', Off: 'off', Blinking: 'blinking' } as const satisfies Readonly<
  Record<IndicatorLed, IndicatorState>
>;

/** The indicator of a machine: as it was set, else as the configuration has it, else lit (B4: "initially Lit"). */
export function indicatorOf(
  { uuid, indicator }: Pick<SystemSnapshot, 'uuid' | 'indicator'>,
  settings: Pick<InventorySettings, 'indicatorLeds'>,
): IndicatorState {
  return indicator ?? configuredIndicator(uuid, settings) ?? 'lit';
}

/** What EMULATOR_INDICATOR_LEDS says. */
export function configuredIndicator(
  uuid: string,
  { indicatorLeds }: Pick<InventorySettings, 'indicatorLeds'>,
): IndicatorState | undefined {
  const led = indicatorLeds[uuid];
  return led === undefined ? undefined : into[led];
}

/**
 * Both properties of an indicator. Blinking is what asks somebody in front of a rack to look at this one; a steady light is how
 * every machine begins, so it does not.
 */
export function renderIndicator(state: IndicatorState): JsonObject {
  return { IndicatorLED: out[state], LocationIndicatorActive: state === 'blinking' };
}

/** Members of a PATCH's body. */
export const indicatorBody = {
  IndicatorLED: z.enum(['Lit', 'Off', 'Blinking']).optional(),
  LocationIndicatorActive: z.boolean().optional(),
};

/**
 * The state that a PATCH asks for; undefined where it asks for none, or for what is so already.
 * @throws {RedfishError} 400, where the two properties contradict each other.
 */
export function wantedIndicator(
  body: { readonly IndicatorLED?: IndicatorLed | undefined; readonly LocationIndicatorActive?: boolean | undefined },
  present: IndicatorState,
): IndicatorState | undefined {
  const { IndicatorLED: led, LocationIndicatorActive: active } = body;
  if (led !== undefined) {
    if (active !== undefined && active !== (led === 'Blinking')) {
      const fault = message('PropertyValueConflict', 'LocationIndicatorActive', 'IndicatorLED');
      throw new RedfishError(400, [about(fault, '#/LocationIndicatorActive', '#/IndicatorLED')]);
    }
    return into[led];
  }
  if (active === undefined || active === (present === 'blinking')) return undefined;
  return active ? 'blinking' : 'off';
}
