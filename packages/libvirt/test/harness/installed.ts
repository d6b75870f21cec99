import { existsSync } from 'node:fs';
import { describe } from '@jest/globals';

/**
 * Returns `describe` if a program is installed and this process is root, else `describe.skip`. For
 * programs whose packages start a service, which `scripts/test` installs only in CI. There a
 * missing program is a failure.
 */
export function describeWith(program: string): typeof describe | typeof describe.skip {
  const isPossible = existsSync(program) && process.getuid?.() === 0;
  return isPossible || process.env['RACKLESS_REQUIRE_ALL'] === '1' ? describe : describe.skip;
}
