/**
 * `bmc-daemon check` prints faults and warnings on standard error. Without a fault, it prints the effective
 * settings on standard output. With `--quiet`, it prints only faults.
 */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { renderEffectiveSettings } from '../config/effective.js';
import { inspectSettings } from '../config/inspect.js';
import type { LoadedSettings } from '../config/load.js';

/** Flags of `bmc-daemon check`. */
export interface CheckOptions {
  /** Whether an unknown name is a fault. If false, it only causes a warning, as at the start of the daemon. */
  readonly strict: boolean;
  /** Prints faults only. */
  readonly quiet: boolean;
}

/** Prints the result of a check. @returns the exit code: 1 if there is a fault, otherwise 0. */
export function check(loaded: LoadedSettings, { strict, quiet }: CheckOptions): number {
  const inspection = inspectSettings(loaded, process.env);
  const rejected = strict ? loaded.unknownNames : [];
  const faults = [...loaded.faults, ...rejected, ...inspection.faults];
  const warnings = [...loaded.warnings, ...inspection.warnings].filter((warning) => !rejected.includes(warning));
  printStartReport({ faults, warnings: quiet ? [] : warnings });
  // Prints no settings after a fault, because a setting with a fault would appear with its default.
  if (faults.length > 0) return exitCode.failed;
  if (!quiet) process.stdout.write(renderEffectiveSettings(loaded));
  return exitCode.done;
}
