/**
 * Completes operations that were in progress when the daemon ended or the connection was lost:
 * *reconciles* a machine. Does this once for each machine and connection.
 */
import { forEachInParallel } from '@rackless/daemon/process/parallel.js';
import type { BackgroundWork } from '../../queue/background-work.js';
import { readForChange, type Definition } from './definition.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';

/** Dependencies of {@link Reconciler}. */
interface ReconcilerOptions {
  readonly host: Host;
  /**
   * Tasks for the whole host. A round runs them in order before it reconciles machines. A failed task is
   * logged, and the next one runs.
   */
  readonly hostTasks: readonly { readonly doing: string; readonly run: () => Promise<void> }[];
  /**
   * Parts that complete the operations of one machine, in this order. Each gets the definition as
   * it was before the first part, and can see there whether it has work. After a part that fails, the other
   * parts do not run.
   */
  readonly machineParts: readonly {
    readonly reconcile: (machine: Machine, definition: Definition) => Promise<void>;
  }[];
  /**
   * Reads a machine as clients see it. Each round ends with a read of all machines that clients see, so that the
   * first request for many machines finds them parsed.
   */
  readonly read: (machine: Machine) => Promise<unknown>;
  /** Limits the machines of all hosts that are reconciled or read at once. */
  readonly backgroundWork: BackgroundWork;
  /** Returns whether clients see a machine. A round reconciles all machines, but reads only those that clients see. */
  readonly isServed: (machine: Machine) => boolean;
}

/**
 * Maximum number of machines of one host that a round reconciles or reads in parallel. Above 1, so that a hung
 * QEMU does not delay all other machines.
 */
const PARALLEL_MACHINES = 4;

/** The reconciliation of one host. Close it with the driver. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #reconciled = new Map<string, Promise<void>>();
  /** The last round: one pass over all machines. Rounds run one after the other. */
  #round: Promise<void> = Promise.resolve();
  /** Number of rounds that have been started. */
  #started = 0;
  #isClosed = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /**
   * Starts a round over all machines after a new connection. The round begins when earlier rounds have ended.
   * Logs failures, except those of the reads at the end.
   */
  startRound(): void {
    this.#reconciled.clear();
    this.#started += 1;
    const number = this.#started;
    this.#round = this.#round.then(() => this.#reconcileAll(number));
  }

  /**
   * Reconciles a machine once for each connection: a later call returns the promise of the first one, also after
   * a failure. A change of the machine waits for this promise. Logs a failure, and never rejects.
   */
  reconcile(machine: Machine): Promise<void> {
    const running = this.#reconciled.get(machine.uuid);
    if (running !== undefined) return running;
    const reconciling = this.#reconcileMachine(machine);
    this.#reconciled.set(machine.uuid, reconciling);
    return reconciling;
  }

  /** Ends the rounds: reconciles and reads no further machine. Resolves when the running ones are complete. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#round;
  }

  async #reconcileAll(number: number): Promise<void> {
    const { host, hostTasks, read, backgroundWork, isServed } = this.#options;
    const { inventory, log } = host;
    for (const { doing, run } of hostTasks) {
      if (this.#isClosed) return;
      await run().catch((error: unknown) => log.warn(`${doing} failed`, { error }));
    }
    const machines = await inventory.list().catch((error: unknown) => {
      log.warn('listing the machines failed', { error });
      return [];
    });
    await forEachInParallel(machines, PARALLEL_MACHINES, async (machine) => {
      if (this.#isClosed) return;
      await backgroundWork.run(async () => {
        // The driver may have been closed while this machine waited for the machines of other hosts.
        if (!this.#isClosed) await this.reconcile(machine);
      });
    });
    await forEachInParallel(machines.filter(isServed), PARALLEL_MACHINES, async (machine) => {
      if (this.#isClosed) return;
      await backgroundWork.run(async () => {
        // Unfinished operations of a later round are more urgent than this read. The later round reads the machine.
        if (this.#isClosed || this.#started > number) return;
        // Ignores an error: if it persists, the next client that reads the machine gets it.
        await read(machine).catch(() => undefined);
      });
    });
  }

  async #reconcileMachine(machine: Machine): Promise<void> {
    const { host, machineParts } = this.#options;
    try {
      const definition = await readForChange(host, machine);
      for (const part of machineParts) await part.reconcile(machine, definition);
    } catch (error) {
      host.log.warn(`reconciling machine ${machine.name} failed`, { error });
    }
  }
}
