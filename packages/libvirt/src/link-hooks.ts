import type { Caller } from './caller.js';
import type { Connection } from './connection.js';
import { isLibvirtError, type LibvirtError } from './errors.js';

/** What `Link.onConnected` gives back. */
export interface Hook {
  /**
   * Settles when the hook ran for the first time: rejects with what it threw when that was not the connection's loss (the hook
   * is then removed), or with LINK_CLOSED.
   */
  readonly ready: Promise<void>;
  /** Stops running the hook on later connections. */
  remove(): void;
}

interface Entry {
  readonly hook: (connection: Caller) => Promise<void>;
  /** The connection that it ran on last, or is running on. */
  connection: Connection | null;
  running: Promise<void>;
  succeeded: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What has to be done on every new control connection. */
export class LinkHooks {
  readonly #entries = new Set<Entry>();
  #closed: LibvirtError | null = null;

  constructor(private readonly onWarning: (error: Error) => void) {}

  /** Adds a hook and runs it on `connection`, if there is one. */
  add(hook: Entry['hook'], connection: Connection | null): Hook {
    const { promise, resolve, reject } = deferred();
    const entry: Entry = { hook, connection: null, running: Promise.resolve(), succeeded: false, resolve, reject };
    if (this.#closed === null) this.#entries.add(entry);
    else reject(this.#closed);
    if (connection !== null) {
      this.#run(entry, connection).catch((error: unknown) => {
        // A loss on the way is no failure: the hook runs again on the next connection.
        if (connection.failure === null) this.#failed(entry, error);
      });
    }
    return { ready: promise, remove: () => void this.#entries.delete(entry) };
  }

  /**
   * Runs every hook that has not run on this connection yet, those included that are added meanwhile.
   * @throws {LibvirtError} when the connection was lost or went silent: it is then not fit for use.
   */
  async runAll(connection: Connection): Promise<void> {
    for (;;) {
      const entries = [...this.#entries];
      if (entries.every((entry) => entry.connection === connection)) {
        await Promise.all(entries.map((entry) => entry.running));
        return;
      }
      await Promise.all(entries.map((entry) => this.#run(entry, connection)));
    }
  }

  /** The link is closed: hooks that never ran will not, nor those that are added from now on. */
  close(error: LibvirtError): void {
    this.#closed = error;
    for (const entry of this.#entries) entry.reject(error);
    this.#entries.clear();
  }

  #run(entry: Entry, connection: Connection): Promise<void> {
    if (entry.connection !== connection) {
      entry.connection = connection;
      entry.running = this.#runOnce(entry, connection);
    }
    return entry.running;
  }

  async #runOnce(entry: Entry, connection: Connection): Promise<void> {
    try {
      await entry.hook(connection);
      entry.succeeded = true;
      entry.resolve();
    } catch (error) {
      // Lost or silent: not the hook's fault. A new connection that does not answer registrations is of no use.
      if (connection.failure !== null || isLibvirtError(error, 'CALL_TIMEOUT')) throw error;
      this.#failed(entry, error);
    }
  }

  #failed(entry: Entry, error: unknown): void {
    if (entry.succeeded) {
      this.onWarning(new Error('doing again on the new connection what was asked for: failed', { cause: error }));
      return;
    }
    this.#entries.delete(entry);
    entry.reject(error);
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((onDone, onFailed) => {
    resolve = onDone;
    reject = onFailed;
  });
  // Who does not wait for it has nothing to handle.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
