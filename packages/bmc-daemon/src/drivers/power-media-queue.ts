/**
 * The order of the operations of one machine, the same for every driver. Ironic and sushy do not wait for the task of a slow
 * InsertMedia, so the power-on that they send next waits here. If the insert fails, that power-on fails too: a guest never boots an
 * empty drive. An eject ends the inserts of its drive that were requested before it.
 */
import { DriverError, type OperationOptions, type PowerAction } from './driver.js';
import type { MediaDevice } from './media-snapshot.js';
import { OperationQueue } from './operation-queue.js';

/** Actions that boot a guest, and so wait for the image that it might boot from. */
const bootsGuest: ReadonlySet<PowerAction> = new Set(['create', 'reboot', 'reset', 'cycle', 'pressButton']);

/** What the operations of the queue are known by. A `restart` was begun before whatever image it waits for was asked for. */
type Label = 'power' | 'restart' | 'media';

interface Named {
  readonly uuid: string;
  readonly name: string;
}

/** An insert that runs or waits. */
interface Insertion {
  readonly uuid: string;
  readonly device: MediaDevice;
  readonly cancelling: AbortController;
}

/** The turns of each machine. */
export class PowerMediaQueue {
  readonly #queue = new OperationQueue();
  readonly #insertions = new Set<Insertion>();
  readonly #closing = new AbortController();

  /** True where the action has to take its turn by {@link power}. */
  mustWait(action: PowerAction): boolean {
    return bootsGuest.has(action);
  }

  /**
   * Runs an insert. If it fails, what waits to boot from its image fails too, up to the next insert or eject. If it is rejected
   * because the drive holds another image, the drive stays as it is and everything goes on.
   * @param insert is given a signal that aborts with the caller's, with an eject of the drive, and with {@link close}.
   * @throws whatever the insert throws; the signal's reason, at once while the insert waits.
   */
  async insert(
    { uuid, name }: Named,
    device: MediaDevice,
    insert: (signal: AbortSignal) => Promise<void>,
    options: OperationOptions,
  ): Promise<void> {
    const cancelling = new AbortController();
    const given = options.signal === undefined ? [] : [options.signal];
    const signal = AbortSignal.any([this.#closing.signal, cancelling.signal, ...given]);
    signal.throwIfAborted();
    let hasBegun = false;
    const run = async (): Promise<void> => {
      hasBegun = true;
      try {
        // An insert that was cancelled while it waited keeps its place: what waits behind it must not boot an empty drive.
        signal.throwIfAborted();
        await insert(signal);
      } catch (error) {
        if (!(error instanceof DriverError) || error.kind !== 'mediaInUse') {
          this.#queue.cancelWaiting(uuid, 'power', withoutImage(name, error), { before: 'media' });
        }
        throw error;
      }
    };
    const insertion = { uuid, device, cancelling };
    this.#insertions.add(insertion);
    const turn = this.#run(uuid, run, 'media', undefined);
    try {
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          if (!hasBegun) reject(signal.reason as Error);
        };
        signal.addEventListener('abort', leave, { once: true });
        // Node keeps a signal that was combined from others in memory while it has a listener.
        void turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
      });
    } finally {
      this.#insertions.delete(insertion);
    }
  }

  /**
   * Runs an eject. First it ends the inserts of the same drive that run or wait: they fail with `insertFailed`.
   * @throws whatever the eject throws; the signal's reason while it waits.
   */
  async eject(
    { uuid, name }: Named,
    device: MediaDevice,
    eject: () => Promise<void>,
    { signal }: OperationOptions,
  ): Promise<void> {
    signal?.throwIfAborted();
    for (const insertion of this.#insertions) {
      if (insertion.uuid === uuid && insertion.device === device) insertion.cancelling.abort(ejected(name));
    }
    await this.#run(uuid, eject, 'media', signal);
  }

  /**
   * Runs an action that boots the guest.
   * @throws {DriverError} insertFailed, where the image that it waited for could not be inserted; what {@link switchOff} gives.
   */
  async power({ uuid }: Named, action: () => Promise<void>, { signal }: OperationOptions): Promise<void> {
    await this.#run(uuid, action, 'power', signal);
  }

  /** Runs the rest of a restart whose guest has gone off already: it is not left off because of an image that came later. */
  async restart({ uuid }: Named, action: () => Promise<void>): Promise<void> {
    await this.#run(uuid, action, 'restart', undefined);
  }

  /** Rejects what waits to boot the machine: it would start it after it was switched off. */
  switchOff({ uuid }: Named, reason: DriverError): void {
    for (const label of ['power', 'restart'] as const) this.#queue.cancelWaiting(uuid, label, reason);
  }

  /** Rejects everything that waits, ends inserts, and resolves when what runs has ended. */
  async close(): Promise<void> {
    this.#closing.abort(new DriverError('unavailable', 'inserting an image: the service is shutting down'));
    await this.#queue.close();
  }

  async #run(uuid: string, work: () => Promise<void>, label: Label, signal: AbortSignal | undefined): Promise<void> {
    await this.#queue.run(uuid, work, { signal, label });
  }
}

function ejected(name: string): DriverError {
  return new DriverError('insertFailed', `inserting an image into machine ${name}: an eject of the drive cancelled it`);
}

/** An insert's own message is for clients, unless it is of the kind that is for the log alone. */
function withoutImage(name: string, cause: unknown): DriverError {
  const why = cause instanceof DriverError && cause.kind !== 'internal' ? `: ${cause.message}` : '';
  const message = `starting machine ${name}: the image that it waited for was not inserted${why}`;
  return new DriverError('insertFailed', message, { cause });
}
