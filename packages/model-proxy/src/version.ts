/** What this proxy is called on the wire. */
import { readVersion } from '@rackless/daemon/version.js';

/** `0.1.0`, from package.json. */
export const version = readVersion(new URL('../package.json', import.meta.url));
