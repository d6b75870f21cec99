/** `bmc-daemon check`: what is wrong, on standard error; what holds, on standard output. */
import { renderEffectiveSettings } from '../config/effective.js';
import { inspectSettings } from '../config/inspect.js';
import type { LoadedSettings } from '../config/load.js';

/** @returns the exit code: 1 where the daemon would not start. */
export function check(loaded: LoadedSettings): number {
  const inspection = inspectSettings(loaded);
  const faults = [...loaded.faults, ...inspection.faults];
  for (const warning of [...loaded.warnings, ...inspection.warnings]) process.stderr.write(`warning: ${warning}\n`);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  // With a fault in it the list would show a default that nobody chose.
  if (faults.length > 0) return 1;
  process.stdout.write(renderEffectiveSettings(loaded));
  return 0;
}
