/** The parsed command line. */
import type { Flags } from '../config/load.js';
import type { Environment } from '../settings.js';

/** The start options of a command line and its environment. */
export interface StartOptions {
  /** Path of the configuration file; undefined if none was given. */
  readonly file: string | undefined;
  readonly flags: Flags;
  readonly environment: Environment;
  /** Warnings about the command line. */
  readonly warnings: readonly string[];
}
