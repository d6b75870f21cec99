/**
 * What waits for an image that is on its way, and what becomes of it when the image does not come: the same for every driver. Ironic
 * and sushy do not wait for the task of a slow InsertMedia, so the power-on that they send next waits here. Where the insert fails
 * they have not learnt of it either: that power-on fails with it, for a guest never boots an empty drive.
 */
import { DriverError, type OperationOptions, type PowerAction } from './driver.js';
import { OperationQueue } from './operation-queue.js';

/** Actions that boot a guest, and so wait for the image that it might boot from. */
const bootsGuest: ReadonlySet<PowerAction> = new Set(['create', 'reboot', 'reset', 'cycle', 'pressButton']);

/** What the operations of the queue are known by. A `restart` was begun before whatever image it waits for was asked for. */
type Label = 'power' | 'restart' | 'media';

interface Named {
  readonly uuid: string;
  readonly name: string;
}

/** The turns of each machine. */
export class Turns {
  readonly #queue = new OperationQueue();

  /** True where the action has to take its turn by {@link power}. */
  mustWait(action: PowerAction): boolean {
    return bootsGuest.has(action);
  }

  /**
   * Runs an insert. Where it fails, what would have booted from its image fails, too: what waits behind it, up to the next insert or
   * eject. One that was refused because the drive holds another image leaves the drive as it was, and all go on.
   * @throws what the insert throws; the signal's reason while it waits.
   */
  async insert({ uuid, name }: Named, insert: () => Promise<void>, { signal }: OperationOptions): Promise<void> {
    const run = async (): Promise<void> => {
      try {
        await insert();
      } catch (error) {
        if (!(error instanceof DriverError) || error.kind !== 'mediaInUse') {
          this.#queue.cancelWaiting(uuid, 'power', withoutImage(name, error), { before: 'media' });
        }
        throw error;
      }
    };
    await this.#run(uuid, run, 'media', signal);
  }

  /** @throws what the eject throws; the signal's reason while it waits. */
  async eject({ uuid }: Named, eject: () => Promise<void>, { signal }: OperationOptions): Promise<void> {
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

  /** Rejects everything that waits, and resolves when what runs has ended. */
  async close(): Promise<void> {
    await this.#queue.close();
  }

  async #run(uuid: string, work: () => Promise<void>, label: Label, signal: AbortSignal | undefined): Promise<void> {
    await this.#queue.run(uuid, work, { signal, label });
  }
}

/** An insert's own message is for clients, unless it is of the kind that is for the log alone. */
function withoutImage(name: string, cause: unknown): DriverError {
  const why = cause instanceof DriverError && cause.kind !== 'internal' ? `: ${cause.message}` : '';
  const message = `starting machine ${name}: the image that it waited for was not inserted${why}`;
  return new DriverError('insertFailed', message, { cause });
}
