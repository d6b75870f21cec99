/**
 * The command `model-proxy --validate_config`: prints faults and warnings to standard error. If there are no faults,
 * prints the effective configuration to standard output.
 */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { renderEffectiveConfig } from '../config/effective.js';
import { ConfigError, loadConfig } from '../config/load.js';
import type { StartOptions } from './start-options.js';

/**
 * Validates the configuration.
 * @returns the exit code: 1 if the proxy would not start with it. Does not try the port or the store.
 */
export function validate({ warnings, ...options }: StartOptions): number {
  try {
    const config = loadConfig(options);
    printStartReport({ faults: [], warnings: [...warnings, ...config.warnings] });
    process.stdout.write(renderEffectiveConfig(config));
    return exitCode.done;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printStartReport({ faults: error.faults, warnings: [...warnings, ...error.warnings] });
    return exitCode.failed;
  }
}
