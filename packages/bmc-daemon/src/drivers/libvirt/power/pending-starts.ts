/**
 * Tracks the starts in progress, so that a machine that is switched off meanwhile does not start
 * afterwards.
 */
import { DriverError } from '../../driver-error.js';

interface Named {
  readonly uuid: string;
  readonly name: string;
}

/**
 * The error of a start that completed after a client had switched off the machine. Switching it off again failed,
 * so the machine still runs.
 */
export class NotSwitchedOffError extends DriverError {}

/** The starts of one host. It uses memory only for machines that are starting. */
export class PendingStarts {
  readonly #pending = new Map<string, Set<AbortController>>();

  /**
   * Runs a start.
   * @param start gets a signal that aborts with {@link switchOff}, and checks it before it starts
   *   the machine.
   * @throws {DriverError} conflict, if the machine was switched off and the start failed.
   *   In any other case, and for a {@link NotSwitchedOffError}, throws what the start throws.
   */
  async run(machine: Named, start: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { uuid } = machine;
    const controller = new AbortController();
    const starts = this.#pending.get(uuid) ?? new Set();
    this.#pending.set(uuid, starts.add(controller));
    try {
      await start(controller.signal);
    } catch (error) {
      const { aborted, reason } = controller.signal as { aborted: boolean; reason: unknown }; // Its type is any.
      const isOff = aborted && error !== reason && !(error instanceof NotSwitchedOffError);
      throw isOff ? switchedOffError(machine, error) : error;
    } finally {
      starts.delete(controller);
      if (starts.size === 0) this.#pending.delete(uuid);
    }
  }

  /** Aborts the starts of a machine with the given reason. */
  switchOff({ uuid }: Named, reason: DriverError): void {
    for (const start of this.#pending.get(uuid) ?? []) start.abort(reason);
  }
}

/** Returns the error of a start whose machine was switched off. */
export function switchedOffError({ name }: Named, cause?: unknown): DriverError {
  return new DriverError('conflict', `starting machine ${name}: it was switched off meanwhile`, { cause });
}
