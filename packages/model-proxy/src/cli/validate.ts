/** `model-proxy --validate_config`: what is wrong, on standard error; what holds, on standard output. */
import { exitCode } from '@rackless/daemon/exit-code.js';
import { printStartReport } from '@rackless/daemon/start-report.js';
import { renderEffectiveConfig } from '../config/effective.js';
import { ConfigError, loadConfig } from '../config/load.js';
import type { StartOptions } from './start-options.js';

/** @returns the exit code: 1 where the proxy would not start. */
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
