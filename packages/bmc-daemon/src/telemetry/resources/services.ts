/** The services that the resources of telemetry use, and `defineResource` for these services. */
import type { Telemetry } from '../telemetry.js';
import { resourceDefiner } from '../../redfish/resource.js';
import type { ServicesWith } from '../../resources/services.js';

/** The services of telemetry. */
export interface TelemetryServices {
  readonly telemetry: Telemetry;
}

/** The services that all resources use, and those of telemetry. */
export type Services = ServicesWith<TelemetryServices>;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
