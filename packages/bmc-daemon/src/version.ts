/** The names and versions of the product. */
import { readVersion } from '@rackless/daemon/version.js';

/** The package version, such as `0.1.0`. */
export const version = readVersion(new URL('../package.json', import.meta.url));

/** The start of our OEM names; also the manufacturer of machines and managers without one. */
export const vendor = 'Rackless';

/** The name of the product: `Rackless bmc-daemon`. */
export const product = `${vendor} bmc-daemon`;

/** The version of the Redfish protocol (DSP0266) that the service implements. */
export const redfishVersion = '1.20.0';
