/** Takes up what was under way when the last daemon ended or the connection broke: each machine once a connection. */
import { readDefinition, type Definition } from './definition.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';

/** What there is to take up. */
export interface TakingUpOptions {
  readonly host: Host;
  /** Of the host as a whole, before its machines; each rejects on its own account. */
  readonly ofHost: readonly { readonly doing: string; readonly run: () => Promise<void> }[];
  /**
   * Parts that finish something of one machine, in this order. Each is given the definition as it was before the first of them: it
   * tells whether there is anything to finish.
   */
  readonly ofMachine: readonly {
    readonly reconcile: (machine: Machine, definition: Definition) => Promise<void>;
  }[];
}

/** Machines at a time: one whose QEMU hangs must not keep the others waiting. */
const AT_ONCE = 4;

/** One host's rounds; closed with the driver. */
export class TakingUp {
  readonly #options: TakingUpOptions;
  readonly #taken = new Map<string, Promise<void>>();
  /** The last round; one at a time. */
  #round: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: TakingUpOptions) {
    this.#options = options;
  }

  /** There is a connection, a new one: begins a round over all machines. What fails is logged. */
  begin(): void {
    this.#taken.clear();
    this.#round = this.#round.then(() => this.#takeUpAll());
  }

  /** Resolves when one machine is taken up, before anything else is done to it. Never rejects. */
  take(machine: Machine): Promise<void> {
    const taken = this.#taken.get(machine.uuid);
    if (taken !== undefined) return taken;
    const taking = this.#takeUp(machine);
    this.#taken.set(machine.uuid, taking);
    return taking;
  }

  /** Begins with no further machine, and resolves when what is under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#round;
  }

  async #takeUpAll(): Promise<void> {
    const { inventory, log } = this.#options.host;
    for (const { doing, run } of this.#options.ofHost) {
      if (this.#isClosed) return;
      await run().catch((error: unknown) => log.warn(`${doing} failed`, { error }));
    }
    const machines = await inventory.list().catch((error: unknown) => {
      log.warn('listing the machines failed', { error });
      return [];
    });
    const left = [...machines];
    const takeUpNext = async (): Promise<void> => {
      for (let machine = left.shift(); machine !== undefined && !this.#isClosed; machine = left.shift()) {
        await this.take(machine);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, takeUpNext));
  }

  async #takeUp(machine: Machine): Promise<void> {
    const { host, ofMachine } = this.#options;
    try {
      const definition = await readDefinition(machine, host.timeoutMs);
      for (const part of ofMachine) await part.reconcile(machine, definition);
    } catch (error) {
      host.log.warn(`taking up machine ${machine.name} failed`, { error });
    }
  }
}
