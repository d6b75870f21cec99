/**
 * The queues of each machine, the same for every driver. Inserts, ejects and actions that boot the
 * guest are *operations*. An operation begins only when the operation before it has ended, which
 * may include a long download. An *edit* reads the machine and changes it. Each operation runs its
 * change in an edit, and a change of a property is only an edit. Edits have a separate queue, so
 * that a change of a property does not wait for a download.
 *
 * Ironic and sushy do not wait for the task of a slow InsertMedia, so their next power-on waits
 * here. If the insert fails, the power-on fails too, so that the guest does not boot an empty
 * drive. An eject cancels the inserts of its drive that were requested before it.
 */
import { DriverError, isDriverError } from '../driver-error.js';
import type { OperationOptions } from '../operation-options.js';
import type { PowerAction } from '../power.js';
import type { MediaDevice } from '../snapshot/media-snapshot.js';
import { OperationQueue, type Operations, type TurnCheck } from './operation-queue.js';

/** Actions that boot a guest, or may boot it. They wait for the inserts that were requested before them. */
const bootActions: ReadonlySet<PowerAction> = new Set(['create', 'reboot', 'reset', 'cycle', 'pressButton']);

/**
 * Labels of the operations. A `restart` is the second half of a restart. It enters the queue when
 * the guest is off or has not reacted in time, possibly behind inserts that were requested after the
 * restart. It continues even if these inserts fail.
 */
type Label = 'power' | 'restart' | 'media';

interface Named {
  readonly uuid: string;
  readonly name: string;
}

/** An insert that runs or waits. */
interface Insertion extends Named {
  readonly device: MediaDevice;
  readonly cancelling: AbortController;
}

/** The queue of operations and the queue of edits, if several replicas share them. */
export interface SharedQueues {
  readonly operations: Operations;
  readonly edits: Operations;
  /** Announcements of ejects between the replicas. Each announcement cancels the inserts into this drive elsewhere. */
  readonly ejects: {
    /** Announces an eject to the other replicas. Does nothing while they are not reachable. */
    announce(uuid: string, device: MediaDevice): void;
    onEject(listener: (uuid: string, device: string) => void): void;
  };
}

/** The queues of each machine. Close it with the driver. */
export class MachineQueue {
  readonly #operations: Operations;
  readonly #edits: Operations;
  readonly #ejects: SharedQueues['ejects'] | undefined;
  readonly #insertions = new Set<Insertion>();
  readonly #closing = new AbortController();
  readonly #editListeners: ((uuid: string) => void)[] = [];

  /** @param shared the queues of the replicas; absent: the daemon has its own. */
  constructor(shared?: SharedQueues) {
    this.#operations = shared?.operations ?? new OperationQueue();
    this.#edits = shared?.edits ?? new OperationQueue();
    this.#ejects = shared?.ejects;
    shared?.ejects.onEject((uuid, device) => this.#cancelInserts(uuid, device));
  }

  /**
   * Runs an edit of a machine after all earlier edits. An operation calls this method while it
   * runs, never within another edit.
   * @param edit gets `check` if the queue is shared. It calls `check` before each write.
   * @throws what the edit throws; {DriverError} unavailable, if the queue closes while the edit
   *   waits.
   */
  edit<Result>(uuid: string, edit: (check?: TurnCheck) => Promise<Result>): Promise<Result> {
    return this.#edits.run(uuid, async (check) => {
      try {
        return await edit(check);
      } finally {
        for (const listener of this.#editListeners) listener(uuid);
      }
    });
  }

  /**
   * Adds a listener that is called after each edit. The listener must not throw, and cannot be
   * removed.
   */
  onEdited(listener: (uuid: string) => void): void {
    this.#editListeners.push(listener);
  }

  /** Returns whether this daemon runs an edit of the machine. */
  isEditing(uuid: string): boolean {
    return this.#edits.isBusy(uuid);
  }

  /** Returns whether an action boots the guest, or may boot it. Run such an action by {@link power}. */
  bootsGuest(action: PowerAction): boolean {
    return bootActions.has(action);
  }

  /**
   * Runs an insert. If it fails, the power actions that wait behind it fail too, up to the next
   * insert or eject in the queue. Power actions that arrive later are not affected. If the drive
   * holds another image, only the insert fails.
   * @param insert gets a signal that aborts with the caller's signal, an eject of the drive, or
   *   {@link close}. `check` is given if the queue is shared: it throws if another replica has taken
   *   the turn.
   * @throws what the insert throws; the signal's reason, at once while the insert waits.
   */
  async insert(
    { uuid, name }: Named,
    device: MediaDevice,
    insert: (signal: AbortSignal, check?: TurnCheck) => Promise<void>,
    options: OperationOptions,
  ): Promise<void> {
    const cancelling = new AbortController();
    const given = options.signal === undefined ? [] : [options.signal];
    const signal = AbortSignal.any([this.#closing.signal, cancelling.signal, ...given]);
    signal.throwIfAborted();
    let hasBegun = false;
    const run = async (check?: TurnCheck): Promise<void> => {
      hasBegun = true;
      try {
        // A cancelled insert stays in the queue, because operations behind it must not boot an
        // empty drive.
        signal.throwIfAborted();
        await insert(signal, check);
      } catch (error) {
        if (!isDriverError(error, 'mediaInUse')) {
          const isCancelled = options.signal?.aborted === true && error === options.signal.reason;
          const reason = failedInsertError(name, error, isCancelled);
          this.#operations.cancelWaiting(uuid, 'power', reason, { before: 'media' });
        }
        throw error;
      }
    };
    const insertion = { uuid, name, device, cancelling };
    this.#insertions.add(insertion);
    const turn = this.#run(uuid, run, 'media', undefined);
    try {
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          if (!hasBegun) reject(signal.reason as Error);
        };
        signal.addEventListener('abort', leave, { once: true });
        // Removes the listener, because Node.js keeps a combined signal in memory while the signal
        // has listeners.
        void turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
      });
    } finally {
      this.#insertions.delete(insertion);
    }
  }

  /**
   * Runs an eject. First it cancels inserts into the same drive: they fail with `insertFailed`.
   * @throws what the eject throws; while it waits: the signal's reason, or {DriverError} unavailable on {@link close}.
   */
  async eject(
    { uuid }: Named,
    device: MediaDevice,
    eject: () => Promise<void>,
    { signal }: OperationOptions,
  ): Promise<void> {
    signal?.throwIfAborted();
    this.#cancelInserts(uuid, device);
    this.#ejects?.announce(uuid, device);
    await this.#run(uuid, eject, 'media', signal);
  }

  /**
   * Runs an action that boots the guest.
   * @param action gets `check` like {@link insert}.
   * @throws what the action throws. While it waits: {DriverError} insertFailed, if the insert before it failed;
   *   {DriverError} unavailable on {@link close}; the reason of {@link switchOff}; the signal's reason.
   */
  async power(
    { uuid }: Named,
    action: (check?: TurnCheck) => Promise<void>,
    { signal }: OperationOptions,
  ): Promise<void> {
    await this.#run(uuid, action, 'power', signal);
  }

  /**
   * Runs the second half of a restart whose guest is already off, or has not reacted in time. An insert that
   * was requested later and failed does not cancel it; {@link switchOff} and {@link close} do.
   */
  async restart({ uuid }: Named, action: () => Promise<void>): Promise<void> {
    await this.#run(uuid, action, 'restart', undefined);
  }

  /** Rejects waiting actions that would start the machine after it was switched off. */
  switchOff({ uuid }: Named, reason: DriverError): void {
    for (const label of ['power', 'restart'] as const) this.#operations.cancelWaiting(uuid, label, reason);
  }

  /**
   * Rejects waiting operations, cancels inserts, and resolves when running operations have ended.
   */
  async close(): Promise<void> {
    this.#closing.abort(new DriverError('unavailable', 'inserting an image: the service is shutting down'));
    await this.#operations.close();
    await this.#edits.close();
  }

  #cancelInserts(uuid: string, device: string): void {
    for (const insertion of this.#insertions)
      if (insertion.uuid === uuid && insertion.device === device)
        insertion.cancelling.abort(ejectedError(insertion.name));
  }

  async #run(
    uuid: string,
    work: (check?: TurnCheck) => Promise<void>,
    label: Label,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#operations.run(uuid, work, { signal, label });
  }
}

function ejectedError(name: string): DriverError {
  return new DriverError('insertFailed', `inserting an image into machine ${name}: an eject of the drive cancelled it`);
}

/**
 * Returns the error of an action that waited for a failed insert. Messages of kind `internal` are
 * for the log only.
 * @param isCancelled whether a client cancelled the task of the insert.
 */
function failedInsertError(name: string, cause: unknown, isCancelled: boolean): DriverError {
  const known = cause instanceof DriverError && cause.kind !== 'internal' ? `: ${cause.message}` : '';
  const why = isCancelled ? ': a client cancelled the insert' : known;
  const message = `starting machine ${name}: the image that it waited for was not inserted${why}`;
  return new DriverError('insertFailed', message, { cause });
}
