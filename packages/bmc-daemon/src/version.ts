/** What we are called, on the wire and for people. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const { version: packageVersion } = z
  .object({ version: z.string() })
  // One level up from src/ and from dist/ alike.
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')));

/** Version of the package, `0.1.0`. */
export const version = packageVersion;

/** Manufacturer and vendor where the machine's own definition names none. */
export const vendor = 'Rackless';

/** `Rackless bmc-daemon`. */
export const product = `${vendor} bmc-daemon`;
