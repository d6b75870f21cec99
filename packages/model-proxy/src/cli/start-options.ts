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
