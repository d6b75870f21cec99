/** Runs the steps of drivers/power.ts on the machines of a libvirt host. */
import { isLibvirtError } from '@rackless/libvirt';
import { isDriverError } from '../../driver-error.js';
import type { OperationOptions } from '../../operation-options.js';
import { type PowerAction, transientError, planPower, type PowerStep } from '../../power.js';
import type { BootControl } from '../boot/boot-control.js';
import type { ColdStart } from './cold-start.js';
import { withFirmwareInstalled } from './start-record.js';
import { editRecord, readDefinition, type Definition } from '../machine/definition.js';
import { attempt, isStateConflict, needsReset } from '../failure.js';
import { GracefulRestarts, type RestartOutcome } from './graceful-restart.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { destroyBeforeStart, destroyStarted, isActive, pressButton, reboot, runStep } from './power-steps.js';
import { discardSavedState, forgetRestart, rememberRestart, tryToRememberRestart } from './restart-record.js';
import { PendingStarts, switchedOffError } from './pending-starts.js';
import { powerIntent } from '../xml/metadata/intent-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/** Dependencies of {@link PowerControl}. */
interface PowerControlOptions {
  readonly host: Host;
  readonly boot: BootControl;
  readonly coldStart: ColdStart;
  /** Time that a graceful restart gives the guest before a hard restart. */
  readonly gracefulRestartWaitMs: number;
}

/** Actions that do not cancel a restart in progress. */
const actionsBesideRestart: ReadonlySet<PowerAction> = new Set(['injectNmi', 'suspend', 'resume']);

/** Power of the machines of one host. Close it with the driver. */
export class PowerControl {
  readonly #options: PowerControlOptions;
  readonly #host: Host;
  readonly #restarts: GracefulRestarts;
  readonly #starts = new PendingStarts();

  constructor(options: PowerControlOptions) {
    this.#options = options;
    this.#host = options.host;
    this.#restarts = new GracefulRestarts({
      host: options.host,
      waitMs: options.gracefulRestartWaitMs,
      onOutcome: (machine, outcome) => this.#onRestartOutcome(machine, outcome),
    });
  }

  /**
   * Stops waiting for guests that restart. If a restart needs a new process, the metadata contain the intent, and the
   * daemon continues after its next start.
   */
  async close(): Promise<void> {
    await this.#restarts.close();
  }

  /**
   * Runs a power action.
   * @throws {DriverError} conflict, if the state does not allow the action; transient, if the machine
   *   would be lost; insertFailed, unavailable, unsupported; other kinds for other errors of libvirt.
   */
  async power(machine: Machine, action: PowerAction, options: OperationOptions): Promise<void> {
    const { queue } = this.#host;
    // A guest that gets an NMI, or is paused or resumed, can still restart, so these actions do not end the wait for
    // its restart. All other actions do.
    if (!actionsBesideRestart.has(action)) this.#restarts.cancel(machine.uuid);
    if (queue.bootsGuest(action)) {
      await queue.power(machine, () => this.#carryOut(machine, action), options);
      return;
    }
    if (action === 'destroy') {
      const reason = switchedOffError(machine);
      this.#starts.switchOff(machine, reason);
      queue.switchOff(machine, reason);
    }
    if (actionsBesideRestart.has(action)) {
      await this.#carryOut(machine, action);
      return;
    }
    // Removes the record of a restart first. Otherwise, a restarted daemon could start the machine again. If another
    // edit is running, removes the record afterwards, because the action must not wait for it.
    const forgetsFirst = !this.#host.queue.isEditing(machine.uuid);
    if (forgetsFirst) await this.#forgetRestart(machine);
    await this.#carryOut(machine, action);
    if (!forgetsFirst) await this.#forgetRestart(machine);
  }

  /** Continues a start or restart that was in progress when the daemon ended; if it is done, removes the record. */
  async reconcile(machine: Machine, known: Definition): Promise<void> {
    if (powerIntent(readMetadata(known.xml).intents) === null) return;
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    const intent = powerIntent(readMetadata(xml).intents);
    if (intent === null) return;
    if (instance === null) {
      await this.#start(machine, { fresh: intent.kind === 'start' && intent.fresh });
    } else if (intent.kind === 'restart' && intent.instance === instance.id) {
      if (intent.force) await this.#startAnew(machine);
      // The guest may have the request already. A second request does not disturb it.
      else await this.#askToRestart(machine);
    } else {
      const fresh = intent.kind === 'restart' || intent.fresh;
      await this.#host.queue.edit(machine.uuid, () => this.#options.coldStart.settle(machine, { fresh }));
    }
  }

  async #carryOut(machine: Machine, action: PowerAction): Promise<void> {
    const { inventory } = this.#host;
    // Reads the state again, because an event may not have arrived yet.
    inventory.forgetState(machine.uuid);
    const { persistent } = machine;
    const steps = planPower(action, { state: await inventory.state(machine), persistent });
    try {
      // `destroy` and `create` together are one operation, which the daemon can complete after its own restart.
      if (steps.includes('destroy') && steps.includes('create')) await this.#startAnew(machine);
      else if (steps.includes('managedSaveRemove')) await this.#start(machine, { fresh: true });
      else for (const step of steps) await this.#step(machine, step);
    } catch (error) {
      // If QEMU cannot continue the paused guest, a power-on starts a new process.
      if (action !== 'create' || !needsReset(error)) throw error;
      if (!persistent) throw transientError('power-on');
      await this.#startAnew(machine);
    } finally {
      inventory.forgetState(machine.uuid);
    }
    if (steps.includes('reset')) await this.#onReset(machine);
  }

  async #step(machine: Machine, step: PowerStep): Promise<void> {
    switch (step) {
      case 'managedSaveRemove':
        // `#start` removes the saved state.
        return;
      case 'create':
        await this.#start(machine, { fresh: false });
        return;
      case 'reboot':
        await this.#rebootGracefully(machine);
        return;
      case 'reset':
        await this.#reset(machine);
        return;
      default:
        await runStep(machine, step, this.#host.timeoutMs);
    }
  }

  /** Installs a firmware update on a transient machine. The start of a persistent machine installs its update. */
  async #onReset(machine: Machine): Promise<void> {
    if (machine.persistent) return;
    await this.#host.queue
      .edit(machine.uuid, () => editRecord(this.#host, machine, withFirmwareInstalled))
      .catch((error: unknown) => {
        this.#host.log.warn(`installing the firmware update of machine ${machine.name} failed`, { error });
      });
  }

  /** Starts the machine. @param options fresh: removes the saved state, so that the machine boots. */
  async #start(machine: Machine, { fresh }: { readonly fresh: boolean }): Promise<void> {
    await this.#runStart(machine, async () => {
      await this.#startOrForget(machine, async () => {
        if (fresh) await discardSavedState(this.#host, machine);
        try {
          await this.#options.coldStart.start(machine);
        } catch (error) {
          // Another client has started the machine: it is on, as requested.
          if (isStateConflict(error) && (await this.#isActive(machine))) return;
          throw error;
        }
      });
    });
  }

  /** Runs a start in the queue of the machine, then switches the machine off if a client requested this meanwhile. */
  async #runStart(machine: Machine, start: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { uuid } = machine;
    const begin = async (signal: AbortSignal): Promise<void> => {
      signal.throwIfAborted();
      await start(signal);
      if (!signal.aborted) return;
      // The request to switch off arrived before the machine was on, so it had no effect.
      await destroyStarted(machine, this.#host);
      signal.throwIfAborted();
    };
    await this.#starts.run(machine, (signal) => this.#host.queue.edit(uuid, () => begin(signal)));
  }

  /**
   * Runs a start. If it fails, removes its record, so that a restarted daemon does not repeat it. Keeps the record if
   * libvirt did not answer.
   */
  async #startOrForget(machine: Machine, start: () => Promise<void>): Promise<void> {
    try {
      await start();
    } catch (error) {
      if (!isDriverError(error, 'unavailable')) await forgetRestart(this.#host, machine);
      throw error;
    }
  }

  async #reset(machine: Machine): Promise<void> {
    // A transient machine cannot get a new process, so it is not necessary to ask whether it needs one.
    if (machine.persistent && (await this.#needsNewProcess(machine))) {
      await this.#startAnew(machine);
      return;
    }
    try {
      await machine.domain.reset({ timeoutMs: this.#host.timeoutMs });
    } catch (error) {
      // ForceRestart must also restart a hung QEMU.
      const hangs = isLibvirtError(error, 'CALL_TIMEOUT', 'OPERATION_TIMEOUT');
      if (hangs && !machine.persistent) throw transientError('hard restart');
      if (hangs) await this.#startAnew(machine);
      else await attempt(`resetting machine ${machine.name}`, () => Promise.reject(error as Error));
    }
  }

  /**
   * Returns whether a reset needs a new process. If QEMU hangs, libvirt 11.3 does not return the definition. Then
   * returns true for a running machine, because a reset would hang too.
   */
  async #needsNewProcess(machine: Machine): Promise<boolean> {
    try {
      return await this.#options.boot.needsNewProcess(machine, { resetUsesOnceOrder: false });
    } catch (error) {
      if (!isDriverError(error, 'unavailable')) throw error;
      // libvirt returns the state even if QEMU hangs. If it does not answer, libvirtd itself hangs.
      return await attempt(`resetting machine ${machine.name}`, () => this.#isActive(machine));
    }
  }

  /**
   * Switches the machine off and on. Meanwhile, the metadata contain the intent, so that the daemon completes the
   * restart after a crash. Exception: if QEMU hangs, the intent is stored only when the machine is off.
   */
  async #startAnew(machine: Machine): Promise<void> {
    await this.#runStart(machine, (signal) =>
      this.#startOrForget(machine, async () => {
        const isRemembered = await tryToRememberRestart(this.#host, machine);
        await destroyBeforeStart(machine, this.#host.timeoutMs, { hangs: !isRemembered });
        if (!isRemembered) await rememberRestart(this.#host, machine, { force: true });
        signal.throwIfAborted();
        await this.#options.coldStart.startAfterDestroy(machine);
      }),
    );
  }

  async #rebootGracefully(machine: Machine): Promise<void> {
    if (machine.persistent && (await this.#options.boot.needsNewProcess(machine, { resetUsesOnceOrder: true }))) {
      await this.#host.queue.edit(machine.uuid, () => rememberRestart(this.#host, machine, { force: false }));
      await this.#askToRestart(machine);
      return;
    }
    // libvirt asks the guest to shut down, and then resets its QEMU instead of ending it.
    await this.#watching(machine, { newProcess: false }, () => reboot(machine.domain, this.#host.timeoutMs));
  }

  /** Asks a guest to shut down. Starts it again in the background, when it has stopped or is late. */
  async #askToRestart(machine: Machine): Promise<void> {
    await this.#watching(machine, { newProcess: true }, () => pressButton(machine.domain, this.#host.timeoutMs));
  }

  async #watching(
    machine: Machine,
    options: { readonly newProcess: boolean },
    ask: () => Promise<void>,
  ): Promise<void> {
    const wait = this.#restarts.watch(machine, options);
    try {
      await attempt(`restarting machine ${machine.name}`, ask);
    } catch (error) {
      wait.abort();
      throw error;
    }
  }

  async #onRestartOutcome(machine: Machine, outcome: RestartOutcome): Promise<void> {
    if (outcome === 'rebooted') {
      await this.#onReset(machine);
      return;
    }
    const isLate = outcome === 'late';
    if (isLate) this.#host.log.info(`machine ${machine.name} did not restart in time: forcing a restart`);
    await this.#host.queue.restart(machine, () => this.#carryOut(machine, isLate ? 'reset' : 'create'));
    await this.#forgetRestart(machine);
  }

  /**
   * Removes the record of a restart that is complete, or replaced by a newer action. Rejects only if the queue closes
   * before its turn.
   */
  async #forgetRestart(machine: Machine): Promise<void> {
    await this.#host.queue.edit(machine.uuid, () => forgetRestart(this.#host, machine));
  }

  #isActive(machine: Machine): Promise<boolean> {
    return isActive(machine, this.#host.timeoutMs);
  }
}
