import { existsSync } from 'node:fs';
import { describe } from '@jest/globals';

/** Whether a suite fails if this host lacks a part that it needs. CI installs all parts. */
export const requiresAll = process.env['RACKLESS_REQUIRE_ALL'] === '1' || process.env['CI'] === 'true';

/**
 * Declares a suite that needs a part which a developer's host may lack. Without the part, the suite is
 * skipped, so that the developer can still run all others. The reason is a warning, because jest prints
 * the titles of skipped suites only with --verbose. CI skips nothing: there the suite fails.
 * @param obstacle the reason why this host cannot run the suite; undefined if it can.
 */
export function describeUnless(obstacle: string | undefined, title: string, suite: () => void): void {
  if (obstacle === undefined || requiresAll) {
    describe(title, suite);
    return;
  }
  console.warn(`skipped: ${title} (${obstacle})`);
  describe.skip(`${title} (${obstacle})`, suite);
}

/**
 * Returns `describe` for suites that need a program and root. The package of such a program starts a
 * service, so `scripts/test` installs it only in CI.
 */
export function describeWith(program: string): (title: string, suite: () => void) => void {
  const isPossible = existsSync(program) && process.getuid?.() === 0;
  return (title, suite) => describeUnless(isPossible ? undefined : `needs ${program} and root`, title, suite);
}
