/** `model-proxy --validate_config`: what is wrong, on standard error; what holds, on standard output. */
import { renderEffectiveConfig } from '../config/effective.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { reportFaults, type StartOptions } from './start-options.js';

/** @returns the exit code: 1 where the proxy would not start. */
export function validate({ warnings, ...options }: StartOptions): number {
  try {
    const config = loadConfig(options);
    for (const warning of [...warnings, ...config.warnings]) process.stderr.write(`warning: ${warning}\n`);
    process.stdout.write(renderEffectiveConfig(config));
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return reportFaults(error.faults, [...warnings, ...error.warnings]);
  }
}
