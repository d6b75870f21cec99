/** Power of machines in memory. */
import { setImmediate } from 'node:timers/promises';
import { DriverError } from '../driver-error.js';
import type { MachineChangeKind } from '../machine-change.js';
import type { OperationOptions } from '../operation-options.js';
import { planPower, type PowerAction, type PowerStep } from '../power.js';
import type { MachineQueue } from '../queue/machine-queue.js';
import { afterBoot, overrideDevice, type BootChoice } from '../rules/boot-override.js';
import type { CompleteSnapshot, SystemRef } from '../snapshot/system-snapshot.js';
import { afterFirmwareStart, afterFirmwareStop, withCurrentRun, withoutOverride } from './fake-firmware.js';
import type { MachineOperation } from './fake-plan.js';
import { withoutFailure, afterStart } from './fake-run.js';
import type { FakeTimetable } from './fake-timetable.js';

interface FakePowerOptions {
  /** @throws {DriverError} notFound. */
  readonly find: (id: string) => CompleteSnapshot;
  readonly update: (uuid: string, change: Partial<CompleteSnapshot>) => void;
  readonly report: (machine: SystemRef, kind: MachineChangeKind) => void;
  readonly queue: MachineQueue;
  readonly timetable: FakeTimetable | undefined;
}

/** The planned operation of each step. Other steps take no time and do not fail. */
const plannedSteps: Readonly<Partial<Record<PowerStep, MachineOperation>>> = {
  create: 'power_on',
  destroy: 'power_off',
  shutdown: 'shutdown',
  reboot: 'reset',
  reset: 'reset',
};

/** Runs power actions, with the planned delays and failures. */
export class FakePower {
  readonly #options: FakePowerOptions;
  readonly #bootedFrom = new Map<string, BootChoice>();
  /** Secure Boot of the current run by machine, for runs with UEFI. */
  readonly #secureRuns = new Map<string, boolean>();
  /** The running action that boots a machine, by machine. A forced power-off aborts it. */
  readonly #starting = new Map<string, AbortController>();
  /** Requested shutdowns whose guest still runs, by machine. */
  readonly #shutdowns = new Map<string, AbortController>();

  constructor(options: FakePowerOptions) {
    this.#options = options;
  }

  /** Runs an action. @throws {DriverError} if the action is impossible or fails; the reason of the signal. */
  async run(machine: CompleteSnapshot, action: PowerAction, options: OperationOptions): Promise<void> {
    const { queue } = this.#options;
    if (queue.bootsGuest(action)) {
      await queue.power(machine, () => this.#runStarting(machine.uuid, action, options), options);
      return;
    }
    if (action === 'destroy') {
      const reason = new DriverError('conflict', 'power-on: the machine was switched off meanwhile');
      queue.switchOff(machine, reason);
      this.#starting.get(machine.uuid)?.abort(reason);
    }
    await this.#carryOut(machine.uuid, action, options.signal);
  }

  /** Returns the boot source of the last start; undefined before the first start. */
  bootedFrom(uuid: string): BootChoice | undefined {
    return this.#bootedFrom.get(uuid);
  }

  /** Records whether Secure Boot is on in the current run. */
  noteRun({ uuid, firmware }: CompleteSnapshot): void {
    const current = firmware.secureBoot?.current ?? null;
    if (current === null) this.#secureRuns.delete(uuid);
    else this.#secureRuns.set(uuid, current);
  }

  /** Returns a changed machine with the Secure Boot state of its current run. */
  withCurrentRun(machine: CompleteSnapshot): CompleteSnapshot {
    return withCurrentRun(machine, this.#secureRuns.get(machine.uuid));
  }

  /** Aborts the shutdown of a machine that was removed. */
  forget(uuid: string): void {
    this.#endShutdown(uuid);
  }

  /** Runs an action that boots the machine. A forced power-off aborts the action while it waits. */
  async #runStarting(uuid: string, action: PowerAction, { signal }: OperationOptions): Promise<void> {
    const powerOff = new AbortController();
    this.#starting.set(uuid, powerOff);
    const client = signal === undefined ? [] : [signal];
    try {
      await this.#carryOut(uuid, action, AbortSignal.any([powerOff.signal, ...client]));
    } finally {
      this.#starting.delete(uuid);
    }
  }

  async #carryOut(uuid: string, action: PowerAction, signal: AbortSignal | undefined): Promise<void> {
    await setImmediate();
    for (const step of planPower(action, this.#options.find(uuid))) {
      const operation = plannedSteps[step];
      const { timetable } = this.#options;
      const wait = operation === undefined ? undefined : timetable?.before(operation, this.#options.find(uuid), signal);
      if (wait !== undefined) await wait;
      this.#step(uuid, step);
    }
  }

  #step(uuid: string, step: PowerStep): void {
    const { find, update, report } = this.#options;
    switch (step) {
      case 'create':
        this.#boot(uuid);
        return;
      case 'reboot':
      case 'reset':
        this.#boot(uuid);
        report(find(uuid), 'rebooted');
        return;
      case 'suspend':
        update(uuid, { state: 'paused' });
        return;
      case 'resume':
      case 'pmWakeup':
        update(uuid, { state: 'running' });
        return;
      case 'shutdown':
        this.#shutDown(uuid);
        return;
      case 'destroy':
      case 'pmSuspend':
        this.#stop(uuid);
        return;
      case 'injectNmi':
      case 'managedSaveRemove':
        // There is no guest, and no machine has a saved state, so these steps change nothing.
        return;
    }
  }

  /** Stops the machine after the planned time of the shutdown; at once if no time is planned. */
  #shutDown(uuid: string): void {
    const { timetable } = this.#options;
    const ms = timetable?.shutdownMs(uuid) ?? 0;
    if (timetable === undefined || ms === 0) {
      this.#stop(uuid);
      return;
    }
    // The guest ignores a second request.
    if (this.#shutdowns.has(uuid)) return;
    const runEnd = new AbortController();
    this.#shutdowns.set(uuid, runEnd);
    timetable.wait(ms, runEnd.signal).then(
      () => this.#stop(uuid),
      () => undefined, // The run has ended, or the driver closes.
    );
  }

  #endShutdown(uuid: string): void {
    const shutdown = this.#shutdowns.get(uuid);
    this.#shutdowns.delete(uuid);
    shutdown?.abort(new DriverError('conflict', 'shutting down: the run of the machine has ended'));
  }

  #stop(uuid: string): void {
    this.#endShutdown(uuid);
    const machine = this.#options.find(uuid);
    this.#options.update(uuid, { state: 'shutoff', ...withoutFailure(machine), ...afterFirmwareStop(machine) });
  }

  #boot(uuid: string): void {
    this.#endShutdown(uuid);
    const previous = this.#options.find(uuid);
    const machine = { ...previous, ...afterFirmwareStart(previous) };
    const { boot } = machine;
    const defaultDevice = boot.available.includes('hd') ? 'hd' : (boot.available[0] ?? 'hd');
    this.#bootedFrom.set(uuid, overrideDevice(boot) ?? defaultDevice);
    this.noteRun(machine);
    this.#options.update(uuid, {
      ...machine,
      ...afterStart(machine),
      state: 'running',
      boot: { ...withoutOverride(boot), ...afterBoot(boot) },
    });
  }
}
