/** Removes the folders of machines that were deleted while the daemon did not run. */
import { readdir } from 'node:fs/promises';
import type { Log } from '@rackless/daemon/log/log.js';

/** Options of {@link OldFolders}. */
interface OldFoldersOptions {
  /** The folder that contains the folders of the machines. */
  readonly root: string;
  /** Returns the names of the folders of existing machines. */
  readonly existingNames: () => ReadonlySet<string>;
  /** Removes the folder with the given name. */
  readonly remove: (name: string) => Promise<void>;
  readonly log: Pick<Log, 'warn'>;
  /** The pause after the first failure. Each further failure doubles it. */
  readonly pauseMs: number;
}

const MAX_PAUSE_MS = 3_600_000;

/** Removes the folders, and retries until all of them are removed. Does nothing if the root cannot be read. */
export class OldFolders {
  readonly #options: OldFoldersOptions;
  #failures = 0;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OldFoldersOptions) {
    this.#options = options;
  }

  /** Starts the removal. Logs only the first failure. */
  start(): void {
    void this.#remove();
  }

  /** Stops the retries. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #remove(): Promise<void> {
    const { root, remove, log, pauseMs } = this.#options;
    const names = await readdir(root).catch(() => []);
    const existingNames = this.#options.existingNames();
    const removals = await Promise.allSettled(names.filter((name) => !existingNames.has(name)).map(remove));
    const failed = removals.find((removal) => removal.status === 'rejected');
    if (failed === undefined || this.#isClosed) return;
    if (this.#failures === 0) {
      const error: unknown = failed.reason;
      log.warn(`removing console logs of deleted machines in ${root} failed: the daemon retries later`, { error });
    }
    const pause = Math.min(pauseMs * 2 ** this.#failures, MAX_PAUSE_MS);
    this.#failures += 1;
    this.#timer = setTimeout(() => void this.#remove(), pause).unref();
  }
}
