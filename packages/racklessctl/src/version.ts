/** The version of this program. */
import { readVersion } from '@rackless/daemon/version.js';

/** Version from package.json, such as `0.1.0`. */
export const version = readVersion(new URL('../package.json', import.meta.url));
