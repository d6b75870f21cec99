/** The report of a command about its configuration, on standard error, before there is a log. */
import { journalPrefix } from './journal.js';

export interface StartReport {
  /** One line each. */
  readonly faults: readonly string[];
  /** One line each. They come first: a misspelled name often explains a fault. */
  readonly warnings: readonly string[];
}

/** Prints one line for each warning and fault. In the journal each line has its priority. */
export function printStartReport({ faults, warnings }: StartReport): void {
  const prefix = journalPrefix(2);
  for (const warning of warnings) process.stderr.write(`${prefix('warn')}warning: ${warning}\n`);
  for (const fault of faults) process.stderr.write(`${prefix('error')}${fault}\n`);
}
