/** What we are called, on the wire and for people. */
import { readVersion } from '@rackless/daemon/version.js';

/** Version of the package, `0.1.0`. */
export const version = readVersion(new URL('../package.json', import.meta.url));

/** Manufacturer and vendor where the machine's own definition names none. */
export const vendor = 'Rackless';

/** `Rackless bmc-daemon`. */
export const product = `${vendor} bmc-daemon`;

/** The version of the Redfish protocol (DSP0266) that is spoken. */
export const redfishVersion = '1.20.0';
