/** Prints warnings and errors of a start or a check to standard error, without the log. */
import { journalPrefix } from '../log/journal.js';

interface StartReport {
  /** Errors, one line each. */
  readonly faults: readonly string[];
  /** Warnings, one line each. They are printed first, because a misspelled name often explains an error. */
  readonly warnings: readonly string[];
}

/** File descriptor of standard error. */
const STANDARD_ERROR = 2;

/** Prints one line for each warning and error, with its priority for systemd's journal. */
export function printStartReport({ faults, warnings }: StartReport): void {
  const prefix = journalPrefix(STANDARD_ERROR);
  for (const warning of warnings) process.stderr.write(`${prefix('warn')}warning: ${warning}\n`);
  for (const fault of faults) process.stderr.write(`${prefix('error')}${fault}\n`);
}
