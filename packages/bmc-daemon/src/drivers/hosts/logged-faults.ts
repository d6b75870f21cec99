/** Logs errors of hosts that no caller gets, for example those of background reads. */
import type { Log } from '@rackless/daemon/log/log.js';

/** Number of remembered failures at which the next failure clears them, so that all can be logged again. */
const MAX_REMEMBERED = 1_000;

/** Logs each failure once, because lists and lookups repeat the same calls. */
export class LoggedFaults {
  readonly #log: Pick<Log, 'warn'>;
  readonly #logged = new Set<string>();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  /** Logs a failure, unless it was logged before. `text` names the call and the host. */
  warn(text: string, error: unknown): void {
    const failure = `${text}: ${String(error)}`;
    if (this.#logged.has(failure)) return;
    if (this.#logged.size >= MAX_REMEMBERED) this.#logged.clear();
    this.#logged.add(failure);
    this.#log.warn(text, { error });
  }
}
