import type { Caller } from '../caller.js';
import type { Connection } from '../connection.js';
import { isLibvirtError, type LibvirtError } from '../errors.js';

/** A hook that `Link.onConnected` has added. */
export interface HookHandle {
  /**
   * Resolves after the first successful run. If an earlier run fails, rejects with its error and
   * removes the hook. Exceptions: if the connection is lost, or if a call times out while the link
   * opens a connection, the hook runs again on the next connection. Rejects with LINK_CLOSED if the
   * link is closed before a run has succeeded.
   */
  readonly ready: Promise<void>;
  /** Removes the hook. If `ready` has not settled yet, it may never settle. */
  remove(): void;
}

interface Entry {
  readonly hook: (connection: Caller) => Promise<void>;
  /** Connection of the current or the latest run. */
  connection: Connection | null;
  running: Promise<void>;
  succeeded: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Functions that run on every new control connection. */
export class LinkHooks {
  readonly #entries = new Set<Entry>();
  #closed: LibvirtError | null = null;

  constructor(private readonly onWarning: (error: Error) => void) {}

  /** Adds a hook and runs it on `connection`, if there is one. */
  add(hook: Entry['hook'], connection: Connection | null): HookHandle {
    const { promise, resolve, reject } = deferred();
    const entry: Entry = { hook, connection: null, running: Promise.resolve(), succeeded: false, resolve, reject };
    if (this.#closed === null) this.#entries.add(entry);
    else reject(this.#closed);
    if (connection !== null) this.#runOnOpen(entry, connection);
    return { ready: promise, remove: () => void this.#entries.delete(entry) };
  }

  /**
   * Runs every hook once on the given connection, including hooks that are added meanwhile.
   * @throws {LibvirtError} if the connection ended or a call timed out. Do not use the connection
   *   then.
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

  /** Runs the hooks that were added after the end of `runAll`, while the link still passed null to `add`. */
  runAdded(connection: Connection): void {
    for (const entry of this.#entries) if (entry.connection !== connection) this.#runOnOpen(entry, connection);
  }

  #runOnOpen(entry: Entry, connection: Connection): void {
    this.#run(entry, connection).catch((error: unknown) => {
      // If the connection was lost, the hook runs again on the next connection. After a timeout, the
      // connection stays open and nothing would run the hook again, so the timeout is a failure.
      if (connection.failure === null) this.#failed(entry, error);
    });
  }

  /** Removes all hooks. Rejects `ready` of those that have not succeeded yet, and of later hooks. */
  close(error: LibvirtError): void {
    this.#closed = error;
    for (const entry of this.#entries) entry.reject(error);
    this.#entries.clear();
  }

  /** Runs the hook on the given connection, unless the hook already runs or has run there. */
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
      // The connection is lost or does not answer. The caller decides whether the hook runs again.
      if (connection.failure !== null || isLibvirtError(error, 'CALL_TIMEOUT')) throw error;
      this.#failed(entry, error);
    }
  }

  #failed(entry: Entry, error: unknown): void {
    if (entry.succeeded) {
      this.onWarning(new Error('restoring event registrations after a reconnect', { cause: error }));
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
  // A caller may ignore the promise. This prevents an unhandled rejection.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
