/** Watches guests after a request to restart, until they restart, stop, or take too long. */
import { DomainEventType, isLibvirtError } from '@rackless/libvirt';
import { isDriverError } from '../../driver-error.js';
import { isStateConflict } from '../failure.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';

/**
 * Outcome of a request to restart. `rebooted`: the guest restarted in its process. `stopped`: the guest
 * is off and must be started. `late`: the guest did not react in time.
 */
export type RestartOutcome = 'rebooted' | 'stopped' | 'late';

/** Options of {@link GracefulRestarts}. */
interface GracefulRestartsOptions {
  readonly host: Host;
  /** Time in which the guest must restart or stop. */
  readonly waitMs: number;
  /**
   * Called with the outcome of each wait that was not cancelled. Its errors are logged, except the
   * {@link DriverError} conflict of a machine that another client has switched off or started.
   */
  readonly onOutcome: (machine: Machine, outcome: RestartOutcome) => Promise<void>;
}

/** The restarts of one host that wait for their guests. Close it with the driver. */
export class GracefulRestarts {
  readonly #options: GracefulRestartsOptions;
  /** Waits by machine. A power action that replaces the restart aborts its wait. */
  readonly #waiting = new Map<string, AbortController>();
  readonly #background = new Set<Promise<void>>();

  constructor(options: GracefulRestartsOptions) {
    this.#options = options;
  }

  /** Stops waiting for the restart of a machine, because of a newer action. */
  cancel(uuid: string): void {
    this.#waiting.get(uuid)?.abort();
  }

  /** Stops all waits, and resolves when the running calls of `onOutcome` have ended. */
  async close(): Promise<void> {
    for (const uuid of [...this.#waiting.keys()]) this.cancel(uuid);
    await Promise.allSettled([...this.#background]);
  }

  /**
   * Starts to watch a guest.
   * @param newProcess true if the restart needs a new QEMU process, so that the guest must stop. A
   *   reset of its current process then does not end the wait.
   * @returns the controller that cancels the watch. The caller uses it if the request to the guest
   *   fails.
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
        if (isOfOtherClient(error)) return;
        host.log.warn(`restarting machine ${name} failed`, { error });
      });
    this.#background.add(task);
    void task.then(() => this.#background.delete(task));
    return controller;
  }

  /** Resolves with the outcome, or null if the watch was cancelled. */
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
      // If libvirt cannot send these events, only the time limit applies.
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

/**
 * Returns whether a restart failed because another client has switched the machine off or started it. Returns false
 * for a new QEMU that ended by itself, although this is a conflict too: only the log reports that the machine is off.
 */
const isOfOtherClient = (error: unknown): boolean =>
  isStateConflict(error) || (isDriverError(error, 'conflict') && !isLibvirtError(error.cause));
