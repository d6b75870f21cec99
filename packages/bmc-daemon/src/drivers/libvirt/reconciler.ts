/** Takes up what was under way when the last daemon ended or the connection broke: each machine once a connection. */
import { readDefinition, type Definition } from './definition.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';

/** What there is to take up. */
export interface ReconcilerOptions {
  readonly host: Host;
  /** Of the host as a whole, before its machines; each rejects on its own account. */
  readonly hostTasks: readonly { readonly doing: string; readonly run: () => Promise<void> }[];
  /**
   * Parts that finish something of one machine, in this order. Each is given the definition as it was before the first of them: it
   * tells whether there is anything to finish.
   */
  readonly machineParts: readonly {
    readonly reconcile: (machine: Machine, definition: Definition) => Promise<void>;
  }[];
}

/** Machines at a time: one whose QEMU hangs must not keep the others waiting. */
const AT_ONCE = 4;

/** One host's rounds; closed with the driver. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #reconciled = new Map<string, Promise<void>>();
  /** The last round; one at a time. */
  #round: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** There is a connection, a new one: begins a round over all machines. What fails is logged. */
  startRound(): void {
    this.#reconciled.clear();
    this.#round = this.#round.then(() => this.#reconcileAll());
  }

  /** Resolves when one machine is reconciled, before anything else is done to it. Never rejects. */
  reconcile(machine: Machine): Promise<void> {
    const present = this.#reconciled.get(machine.uuid);
    if (present !== undefined) return present;
    const reconciling = this.#reconcileMachine(machine);
    this.#reconciled.set(machine.uuid, reconciling);
    return reconciling;
  }

  /** Begins with no further machine, and resolves when what is under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#round;
  }

  async #reconcileAll(): Promise<void> {
    const { inventory, log } = this.#options.host;
    for (const { doing, run } of this.#options.hostTasks) {
      if (this.#isClosed) return;
      await run().catch((error: unknown) => log.warn(`${doing} failed`, { error }));
    }
    const machines = await inventory.list().catch((error: unknown) => {
      log.warn('listing the machines failed', { error });
      return [];
    });
    const left = [...machines];
    const reconcileNext = async (): Promise<void> => {
      for (let machine = left.shift(); machine !== undefined && !this.#isClosed; machine = left.shift()) {
        await this.reconcile(machine);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reconcileNext));
  }

  async #reconcileMachine(machine: Machine): Promise<void> {
    const { host, machineParts } = this.#options;
    try {
      const definition = await readDefinition(machine, host.timeoutMs);
      for (const part of machineParts) await part.reconcile(machine, definition);
    } catch (error) {
      host.log.warn(`reconciling machine ${machine.name} failed`, { error });
    }
  }
}
