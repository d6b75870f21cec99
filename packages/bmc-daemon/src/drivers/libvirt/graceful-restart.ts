/** Guests that were asked to restart: watched until they have, or have gone off, or their time is up. */
import { DomainEventType } from '@rackless/libvirt';
import { DriverError } from '../driver.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';

/** What became of a guest that was asked. `stopped`: it is off, and has to be started anew. `late`: it has not obeyed. */
export type RestartOutcome = 'rebooted' | 'stopped' | 'late';

/** How guests are watched, and what is done then. */
export interface GracefulRestartsOptions {
  readonly host: Host;
  /** How long a guest may take. */
  readonly waitMs: number;
  /** What there is to do then. A conflict is somebody else's coming in between; what else it rejects with is logged. */
  readonly onOutcome: (machine: Machine, outcome: RestartOutcome) => Promise<void>;
}

/** All restarts of a host that wait for their guests; closed with the driver. */
export class GracefulRestarts {
  readonly #options: GracefulRestartsOptions;
  /** By machine; aborted by whatever is asked of it next. */
  readonly #waiting = new Map<string, AbortController>();
  readonly #background = new Set<Promise<void>>();

  constructor(options: GracefulRestartsOptions) {
    this.#options = options;
  }

  /** Something else is asked of the machine: its restart is not waited for any more. */
  giveUp(uuid: string): void {
    this.#waiting.get(uuid)?.abort();
  }

  /** Gives all of them up, and resolves when what is under way has ended. */
  async close(): Promise<void> {
    for (const uuid of [...this.#waiting.keys()]) this.giveUp(uuid);
    await Promise.allSettled([...this.#background]);
  }

  /**
   * Watches a guest from now on.
   * @param newProcess whether it is to go off and be started anew, so that a reset of its process is not what is waited for.
   * @returns what gives it up: asking the guest may fail.
   */
  watch(machine: Machine, { newProcess }: { readonly newProcess: boolean }): AbortController {
    const { host, onOutcome } = this.#options;
    const { uuid, name } = machine;
    const controller = new AbortController();
    this.#waiting.set(uuid, controller);
    const task = this.#outcome(uuid, newProcess, controller.signal)
      .then(async (outcome) => {
        controller.abort();
        if (this.#waiting.get(uuid) === controller) this.#waiting.delete(uuid);
        if (outcome !== null) await onOutcome(machine, outcome);
      })
      .catch((error: unknown) => {
        // Switched off, or changed, by whoever came in between.
        if (error instanceof DriverError && error.kind === 'conflict') return;
        host.log.warn(`restarting machine ${name} failed`, { error });
      });
    this.#background.add(task);
    void task.then(() => this.#background.delete(task));
    return controller;
  }

  /** @returns null where it was given up. */
  #outcome(uuid: string, newProcess: boolean, signal: AbortSignal): Promise<RestartOutcome | null> {
    const { host, waitMs } = this.#options;
    const { events } = host.hypervisor;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve('late'), waitMs);
      const stopped = events.on('lifecycle', ({ domain, event }) => {
        if (domain.uuid === uuid && event === DomainEventType.STOPPED) resolve('stopped');
      });
      const rebooted = events.on('reboot', ({ domain }) => {
        if (domain.uuid === uuid && !newProcess) resolve('rebooted');
      });
      // Where libvirtd sends no such events, the time decides.
      stopped.ready.catch(() => undefined);
      rebooted.ready.catch(() => undefined);
      signal.addEventListener('abort', () => {
        resolve(null);
        clearTimeout(timer);
        stopped.remove();
        rebooted.remove();
      });
    });
  }
}
