/**
 * Applies the boot override to the machines of a libvirt host.
 *
 * A *continuous* override is the boot order in the persistent definition. The metadata store the user's own order, and
 * the daemon restores it byte for byte when the override ends. A *one-time* override does not change this order: it
 * waits in the metadata for the next start (`cold-start.ts`).
 *
 * The daemon also sets the boot order in a running QEMU, because the guest may restart by itself. QEMU passes the order
 * to the firmware only at a machine reset. So the daemon must not remove a one-time order before the firmware has read
 * it (`reset-watch.ts`).
 */
import { DomainEventStartedDetail } from '@rackless/libvirt';
import { isDriverError } from '../../driver-error.js';
import {
  readDefinition,
  readInactiveXml,
  saveDefinition,
  saveProcess,
  type Definition,
} from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import { onceDevice, transientOrder, withOverrideUsed } from '../machine/boot-edit.js';
import { setQemuBootOrder } from './monitor.js';
import { isStarting, readProcess } from '../machine/process-record.js';
import { resetWhenFirmwareRuns, waitUntilOrderIsUsed } from './reset-watch.js';
import { countReads, hasBooted } from './once-evidence.js';
import { needsNewProcess } from './new-process.js';
import { edited, readValues, type DefinitionValues } from '../xml/definition-edit.js';
import {
  bootIndexes,
  deviceKeys,
  effectiveBootOrder,
  hasChoice,
  isSameOrder,
  orderWithFirst,
} from '../xml/os/boot-order.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/** Boot overrides of the machines of one host. Close it with the driver. */
export class BootControl {
  readonly #host: Host;
  /** Machines of which this daemon knows that their QEMU has a one-time order. */
  readonly #armed = new Set<string>();
  /** Machines that {@link reconcile} has read: the daemon knows the order of their QEMU. */
  readonly #reconciled = new Set<string>();
  /** The waits after a reset until the firmware has used a one-time order, by machine. */
  readonly #resetting = new Map<string, AbortController>();
  readonly #background = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #hasReportedMonitor = false;

  constructor({ host }: { readonly host: Host }) {
    this.#host = host;
  }

  /**
   * Aborts all waits, and resolves when the background work has ended. After the next start of the daemon,
   * {@link reconcile} continues with orders that are still set in QEMU.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const uuid of [...this.#resetting.keys()]) this.#forgetReset(uuid);
    await Promise.allSettled([...this.#background]);
  }

  /**
   * Stops the wait that follows a restart of the guest. Call this when a client has set another override: the restart
   * has not used it, so it must not end it.
   */
  stopResetWait(uuid: string): void {
    this.#forgetReset(uuid);
  }

  /**
   * Removes a one-time order from QEMU and ends its override, as soon as the firmware has used it. Call this after a
   * restart or a reset of the guest. Ignores a machine without a one-time order, but only after {@link reconcile} has
   * read the machine. Before, the daemon does not know the order in QEMU.
   */
  onReboot(uuid: string): void {
    this.#forgetReset(uuid);
    if (this.#reconciled.has(uuid) && !this.#armed.has(uuid)) return;
    const resetting = new AbortController();
    this.#resetting.set(uuid, resetting);
    this.#inBackground(uuid, 'removing the one-time boot order', async (machine) => {
      try {
        await this.#removeOnceOrderWhenUsed(machine, resetting.signal);
      } catch (error) {
        if (!resetting.signal.aborted) throw error;
      } finally {
        if (this.#resetting.get(uuid) === resetting) this.#resetting.delete(uuid);
      }
    });
  }

  /** Forgets the order of a process that has ended. */
  onStopped(uuid: string): void {
    this.#forgetReset(uuid);
    this.#armed.delete(uuid);
  }

  /**
   * Sets a pending one-time order in the QEMU of a machine that another program has started without it. Then resets the
   * guest if it has just begun to boot. A guest that continued from a saved state, or arrived from another host, uses
   * the order at its next restart.
   * @param detail `DomainEventStartedDetail`.
   */
  onStartedElsewhere(uuid: string, detail: number): void {
    this.#inBackground(uuid, 'applying the one-time boot order', async (machine) => {
      const instance = await this.#host.queue.edit(uuid, () => this.#setPendingOrder(machine));
      if (instance === null || detail !== DomainEventStartedDetail.BOOTED || !this.#armed.has(uuid)) return;
      this.#host.log.info(`machine ${machine.name} was started by another program: resetting it for its one-time boot`);
      // A guest that restarts by itself meanwhile uses the order.
      const isWanted = (): boolean => this.#armed.has(uuid) && !this.#resetting.has(uuid);
      await resetWhenFirmwareRuns(this.#host, machine, instance, { isWanted, signal: this.#closing.signal });
    });
  }

  /** Sets a pending one-time order in QEMU. Returns the instance; null if the machine is off or has no such order. */
  async #setPendingOrder(machine: Machine): Promise<Instance | null> {
    // Most machines have no one-time override, and then the XML of the running machine is not needed.
    if (onceDevice(readMetadata(await readInactiveXml(machine, this.#host.timeoutMs))) === null) return null;
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    // Does nothing while another daemon on this host starts the machine with the override (`isStarting`).
    const values = readValues(xml);
    if (instance === null || isStarting(instance) || onceDevice(values.record) === null) return null;
    await this.#applyOrder(machine, instance, values);
    return instance;
  }

  /** Completes an override that was in progress when the daemon or connection ended. @throws as {@link applyOrder}. */
  async reconcile(machine: Machine, { xml, instance }: Definition): Promise<void> {
    const mayHaveOrder = instance !== null && (readMetadata(xml).boot !== null || readProcess(instance) !== null);
    if (mayHaveOrder) await this.#reconcile(machine);
    this.#reconciled.add(machine.uuid);
  }

  async #reconcile(machine: Machine): Promise<void> {
    await this.#host.queue.edit(machine.uuid, async () => {
      const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
      if (instance === null) return;
      const armed = readProcess(instance)?.armed ?? null;
      const values = readValues(xml);
      if (onceDevice(values.record) === null) {
        // The client may have changed the override just before the daemon ended, so QEMU may have an old order. Without
        // a record of an override, QEMU keeps its order. A changed order in the definition waits for the next start.
        if (armed !== null || values.record.boot !== null) await this.#applyOrder(machine, instance, values);
        return;
      }
      // This daemon has seen the restart, so `onReboot` removes the order soon. New reads of the boot drive do not yet
      // prove that the firmware has used the order.
      if (armed !== null && this.#resetting.has(machine.uuid)) return;
      if (armed !== null && (await hasBooted(machine, armed, this.#host.timeoutMs))) {
        await this.#finish(machine, { xml, instance });
        return;
      }
      await this.#applyOrder(machine, instance, values);
    });
  }

  /**
   * Sets the boot order of the definition in the running QEMU, after the definition has changed or a device was added.
   * The caller has begun an edit in the queue. Without access to QEMU's monitor, only logs this once.
   * @throws {DriverError} as `setQemuBootOrder`, and the kind of libvirt's error if the machine or its record cannot be
   *   read or written.
   */
  async applyOrder(machine: Machine): Promise<void> {
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    if (instance !== null) await this.#applyOrder(machine, instance, readValues(xml));
  }

  /**
   * Returns whether a restart needs a new QEMU process, because the definition or its record has settings that this
   * process does not use. False for a machine that is off or transient.
   * @param options.resetUsesOnceOrder whether a reset is enough for a one-time order that this QEMU already has.
   * @throws {DriverError} notFound, unavailable.
   */
  async needsNewProcess(machine: Machine, options: { readonly resetUsesOnceOrder: boolean }): Promise<boolean> {
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    if (instance === null || !machine.persistent) return false;
    return needsNewProcess(readValues(xml), instance, options);
  }

  /**
   * Sets the order of a definition in the running QEMU. Ignores a machine that stops meanwhile, because its next start
   * uses the definition. The caller has begun an edit in the queue.
   * @throws the error of a failure, if the same run of the machine continues.
   */
  async applyOrderIfRunning(machine: Machine, instance: Instance, defined: DefinitionValues): Promise<void> {
    try {
      await this.#applyOrder(machine, instance, defined);
    } catch (error) {
      const { instance: current } = await readDefinition(machine, this.#host.timeoutMs);
      if (current?.id === instance.id) throw error;
    }
  }

  /** Sets the boot order and the pending one-time order of a definition in the running QEMU, through its monitor. */
  async #applyOrder(machine: Machine, instance: Instance, { domain, record }: DefinitionValues): Promise<void> {
    const { log, timeoutMs } = this.#host;
    const order = deviceKeys(machine.persistent ? effectiveBootOrder(domain) : transientOrder(instance.domain, record));
    const pending = onceDevice(record);
    const once = pending !== null && hasChoice(instance.domain.devices, pending) ? pending : null;
    const processRecord = readProcess(instance);
    const current = processRecord?.order ?? deviceKeys(effectiveBootOrder(instance.domain));
    if (once === null && (processRecord?.armed ?? null) === null && isSameOrder(current, order)) return;
    const keys = once === null ? order : deviceKeys(orderWithFirst(instance.domain, once));
    if (!(await setQemuBootOrder(machine.domain, bootIndexes(instance.domain, keys), timeoutMs))) {
      if (!this.#hasReportedMonitor)
        log.info('no access to QEMU monitors: a boot override takes effect when a new QEMU process starts');
      this.#hasReportedMonitor = true;
      return;
    }
    const armed =
      once === null ? null : { target: once, evidence: await countReads(machine, instance, once, timeoutMs) };
    try {
      await saveProcess(machine, instance, { order, armed }, timeoutMs);
    } catch (error) {
      // Restores the order in QEMU, because after a restart the daemon trusts the record, which was not written.
      const formerArmed = processRecord?.armed ?? null;
      const former = formerArmed === null ? current : deviceKeys(orderWithFirst(instance.domain, formerArmed.target));
      await setQemuBootOrder(machine.domain, bootIndexes(instance.domain, former), timeoutMs).catch((reason: unknown) =>
        log.warn(`restoring the boot order of machine ${machine.name} failed`, { error: reason }),
      );
      throw error;
    }
    if (armed === null) {
      this.#forgetReset(machine.uuid);
      this.#armed.delete(machine.uuid);
      return;
    }
    this.#armed.add(machine.uuid);
  }

  #forgetReset(uuid: string): void {
    this.#resetting.get(uuid)?.abort();
    this.#resetting.delete(uuid);
  }

  async #removeOnceOrderWhenUsed(machine: Machine, signal: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#host;
    const { instance } = await readDefinition(machine, timeoutMs);
    const armed = instance === null ? null : (readProcess(instance)?.armed ?? null);
    if (armed === null) return;
    await waitUntilOrderIsUsed(machine.domain, armed.evidence, { timeoutMs, signal });
    await this.#host.queue.edit(machine.uuid, async () => {
      const definition = await readDefinition(machine, this.#host.timeoutMs);
      const { instance } = definition;
      if (instance === null || (readProcess(instance)?.armed ?? null) === null) return;
      await this.#finish(machine, definition);
    });
  }

  /** Restores the order of the machine in QEMU after the one-time order was used, and disables the override. */
  async #finish(machine: Machine, { xml, instance }: Definition): Promise<void> {
    // Changes QEMU before the record. If the daemon ends in between, the override is still pending, and the daemon
    // finds it after its next start.
    const { domain, record } = readValues(xml);
    if (instance !== null) await this.#applyOrder(machine, instance, { domain, record: withOverrideUsed(record) });
    // Reads the definition again: a change that virsh or another daemon made meanwhile must not be lost.
    const { xml: from } = await readDefinition(machine, this.#host.timeoutMs);
    const to = edited(from, (edit) => edit.editRecord(withOverrideUsed));
    await saveDefinition(this.#host, machine, { from, to });
  }

  #inBackground(uuid: string, doing: string, work: (machine: Machine) => Promise<void>): void {
    const task = this.#host.inventory
      .find(uuid)
      .then(work)
      .catch((error: unknown) => {
        if (isDriverError(error, 'notFound')) return; // The machine was deleted meanwhile.
        this.#host.log.warn(`${doing} of machine ${uuid} failed`, { error });
      });
    this.#background.add(task);
    void task.then(() => this.#background.delete(task));
  }
}
