/** What a command line comes to. */
import type { Flags } from '../config/load.js';
import type { Environment } from '../settings.js';

export interface StartOptions {
  /** undefined: none was named. */
  readonly file: string | undefined;
  readonly flags: Flags;
  readonly environment: Environment;
  /** About the command line itself. */
  readonly warnings: readonly string[];
}

/** Says what keeps the proxy from starting, a line each, where there is no log yet. @returns the exit code. */
export function reportFaults(faults: readonly string[], warnings: readonly string[]): number {
  // A misspelled name is often why something else is at fault.
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  return 1;
}
