/**
 * The boot override of real machines.
 *
 * *Continuous* is the order in the persistent definition; the user's own order is kept in the machine's metadata and put back byte
 * for byte. *Once* never touches the definition: it waits in the metadata, and the machine's next start uses it (`cold-start.ts`).
 * A QEMU that runs is told either at once, because its guest may restart by itself: QEMU reads the order at a machine reset and at
 * no other time, so a once-order is taken back when the firmware has read it (`reset-watch.ts`).
 */
import { DomainEventStartedDetail } from '@rackless/libvirt';
import type { BootChoice } from '../boot-override.js';
import { DriverError, type FirmwareType } from '../driver.js';
import { readDefinition, saveDefinition, saveProcess, type Definition } from './definition.js';
import { chooseFirmware, type BootLoaderMap } from './firmware-choice.js';
import type { Host } from './host.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { onceDevice, transientOrder, withOverrideUsed } from './boot-edit.js';
import { setQemuBootOrder } from './monitor.js';
import { isStarting, readProcess, type Armed } from './process-record.js';
import { firmwareIsUp, orderIsUsed, readsOf } from './reset-watch.js';
import {
  bootableDevices,
  bootIndexes,
  deviceKeys,
  effectiveBootOrder,
  hasChoice,
  orderWithFirst,
} from './xml/boot-order.js';
import { readDomain } from './xml/domain.js';
import type { FirmwareChoice } from './xml/firmware.js';
import { readMetadata } from './xml/metadata.js';

/** What boot orders are changed by. */
export interface BootControlOptions {
  readonly host: Host;
  readonly bootLoaderMap: BootLoaderMap;
  /** Master copy of the variables for a UEFI image of the map. Default: the one that its name goes with. */
  readonly variables?: string | null;
}

/** Boot overrides of the machines of one host; closed with the driver. */
export class BootControl {
  readonly #host: Host;
  readonly #bootLoaderMap: BootLoaderMap;
  readonly #variables: string | null;
  /** Machines whose QEMU has been told a once-order. */
  readonly #armed = new Set<string>();
  /** Machines whose QEMU {@link reconcile} has looked at: what it was told since is known. */
  readonly #reconciled = new Set<string>();
  /** Machines that were reset, and whose once-order is being used if they have one. */
  readonly #resetting = new Map<string, AbortController>();
  readonly #background = new Set<Promise<void>>();
  #toldAboutMonitor = false;

  constructor({ host, bootLoaderMap, variables = null }: BootControlOptions) {
    this.#variables = variables;
    this.#host = host;
    this.#bootLoaderMap = bootLoaderMap;
  }

  /** Waits for nothing that is not under way; what has been told to a QEMU is found again by {@link reconcile}. */
  async close(): Promise<void> {
    for (const uuid of [...this.#resetting.keys()]) this.#forgetReset(uuid);
    await Promise.allSettled([...this.#background]);
  }

  /** A client has changed the override. A restart that came before has not used what the client asks for. */
  overrideChanged(uuid: string): void {
    this.#forgetReset(uuid);
  }

  /**
   * The guest restarts, or the machine was reset: a once-order has been read by then, or is about to be. Of every machine, for
   * what an earlier daemon has told its QEMU is not known before {@link reconcile} has come to it.
   */
  onReboot(uuid: string): void {
    this.#forgetReset(uuid);
    if (this.#reconciled.has(uuid) && !this.#armed.has(uuid)) return;
    const resetting = new AbortController();
    this.#resetting.set(uuid, resetting);
    this.#inBackground(uuid, 'taking the one-time boot order back', async (machine) => {
      try {
        await this.#takeBackWhenUsed(machine, resetting.signal);
      } catch (error) {
        if (!resetting.signal.aborted) throw error;
      } finally {
        if (this.#resetting.get(uuid) === resetting) this.#resetting.delete(uuid);
      }
    });
  }

  onStopped(uuid: string): void {
    this.#forgetReset(uuid);
    this.#armed.delete(uuid);
  }

  /**
   * Somebody else has started the machine. It boots by its own order by now: a pending once-order is told to its QEMU, and a
   * guest that has only just begun to boot is reset to obey it. One that was restored goes on, and obeys at its own restart.
   */
  onStartedElsewhere(uuid: string, detail: number): void {
    this.#inBackground(uuid, 'applying the one-time boot order', async (machine) => {
      await this.#host.edits.run(uuid, async () => {
        const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
        // Another daemon on this host may be using the override at this very moment.
        if (instance === null || onceDevice(xml) === null || isStarting(instance)) return;
        await this.#applyOrder(machine, instance, xml);
        if (detail === DomainEventStartedDetail.BOOTED && this.#armed.has(uuid)) {
          this.#host.log.info(`machine ${machine.name} was started by somebody else: reset for its one-time boot`);
          const drives = instance.domain.devices.disks.map(({ target }) => target);
          await firmwareIsUp(machine.domain, drives, this.#host.timeoutMs);
          await machine.domain.reset({ timeoutMs: this.#host.timeoutMs });
        }
      });
    });
  }

  /** Takes up what an earlier daemon, or one that was cut off, has left of a machine that runs. */
  async reconcile(machine: Machine, known: Definition): Promise<void> {
    const { xml, instance } = known;
    if (instance !== null && (readMetadata(xml).boot !== null || readProcess(instance) !== null)) {
      await this.#reconcile(machine);
    }
    this.#reconciled.add(machine.uuid);
  }

  async #reconcile(machine: Machine): Promise<void> {
    await this.#host.edits.run(machine.uuid, async () => {
      const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
      if (instance === null) return;
      const armed = readProcess(instance)?.armed ?? null;
      if (onceDevice(xml) === null) {
        // A client has changed the override, and the process may not have been told. An order of the user's own waits for a restart.
        if (armed !== null || readMetadata(xml).boot !== null) await this.#applyOrder(machine, instance, xml);
        return;
      }
      // Heard to restart since we listen: it is taken back in a moment, though the drive may not have been read yet.
      if (armed !== null && this.#resetting.has(machine.uuid)) return;
      if (armed !== null && (await this.#hasBooted(machine, armed))) {
        await this.#finish(machine, { xml, instance });
        return;
      }
      await this.#applyOrder(machine, instance, xml);
    });
  }

  /**
   * The definition has changed, or a device has come to the running machine: its QEMU is told what it can be told now. The caller
   * holds the machine's turn in `edits`.
   */
  async applyOrder(machine: Machine): Promise<void> {
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    if (instance !== null) await this.#applyOrder(machine, instance, xml);
  }

  /**
   * Whether a restart has to be a new QEMU process, because the definition says something about booting that this one does not know.
   * @param onceByReset whether an armed once-order may be left to a reset of this process.
   */
  async needsNewProcess(machine: Machine, { onceByReset }: { readonly onceByReset: boolean }): Promise<boolean> {
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    if (instance === null || !machine.persistent) return false;
    const known = readProcess(instance);
    if (onceDevice(xml) !== null && (!onceByReset || (known?.armed ?? null) === null)) return true;
    const defined = readDomain(xml);
    const running = instance.domain;
    const loader = defined.os.loader?.path ?? null;
    const { resetNvram, settings, owner } = readMetadata(xml);
    if (resetNvram || defined.firmware !== running.firmware) return true;
    // A new process shows a later daemon that the update is installed; a reset leaves no trace.
    if ((owner?.firmwareUpdate?.staged ?? null) !== null) return true;
    if (settings !== null && Object.keys(settings.pending).length > 0) return true;
    if (loader !== null && loader !== running.os.loader?.path) return true;
    // A device that the user has plugged in for this run only is no reason to lose it.
    const plugged = new Set(bootableDevices(running.devices).map(({ key }) => key));
    if (bootableDevices(defined.devices).some(({ key }) => !plugged.has(key))) return true;
    const present = known?.order ?? deviceKeys(effectiveBootOrder(running));
    return !same(present, deviceKeys(effectiveBootOrder(defined)));
  }

  /** The files that a boot mode means here. @throws {DriverError} invalid, where one of them does not exist. */
  async wantedFirmware(firmware: FirmwareType, architecture: string): Promise<FirmwareChoice> {
    return await chooseFirmware(this.#bootLoaderMap, firmware, architecture, this.#variables);
  }

  /**
   * Tells the running QEMU the order of a definition. Ignores a machine that stops meanwhile: it finds the order in its definition.
   * The caller holds the machine's turn in `edits`.
   * @param xml the definition.
   */
  async applyOrderIfRunning(machine: Machine, instance: Instance, xml: string): Promise<void> {
    try {
      await this.#applyOrder(machine, instance, xml);
    } catch (error) {
      const { instance: present } = await readDefinition(machine, this.#host.timeoutMs);
      if (present?.id === instance.id) throw error;
    }
  }

  /** Tells the running QEMU the order of this definition, and the once-order that is pending in it. */
  async #applyOrder(machine: Machine, instance: Instance, xml: string): Promise<void> {
    const { log, timeoutMs } = this.#host;
    const domain = readDomain(xml);
    const order = deviceKeys(machine.persistent ? effectiveBootOrder(domain) : transientOrder(instance.domain, xml));
    const pending = onceDevice(xml);
    const once = pending !== null && hasChoice(instance.domain.devices, pending) ? pending : null;
    const known = readProcess(instance);
    const present = known?.order ?? deviceKeys(effectiveBootOrder(instance.domain));
    if (once === null && (known?.armed ?? null) === null && same(present, order)) return;
    const keys = once === null ? order : deviceKeys(orderWithFirst(instance.domain, once));
    if (!(await setQemuBootOrder(machine.domain, bootIndexes(instance.domain, keys), timeoutMs))) {
      if (!this.#toldAboutMonitor) log.info('no access to QEMU monitors: a boot override holds from the next power-on');
      this.#toldAboutMonitor = true;
      return;
    }
    const armed = once === null ? null : { target: once, evidence: await this.#evidence(machine, instance, once) };
    try {
      await saveProcess(machine, { instance: instance.id, order, armed }, timeoutMs);
    } catch (error) {
      // QEMU and its record never differ: the next daemon trusts the record.
      const told = known?.armed ?? null;
      const former = told === null ? present : deviceKeys(orderWithFirst(instance.domain, told.target));
      await setQemuBootOrder(machine.domain, bootIndexes(instance.domain, former), timeoutMs).catch(
        (reason: unknown) => {
          log.warn(`telling machine ${machine.name} its former boot order failed`, { error: reason });
        },
      );
      throw error;
    }
    if (armed === null) {
      this.onStopped(machine.uuid);
      return;
    }
    this.#armed.add(machine.uuid);
  }

  #forgetReset(uuid: string): void {
    this.#resetting.get(uuid)?.abort();
    this.#resetting.delete(uuid);
  }

  async #takeBackWhenUsed(machine: Machine, signal: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#host;
    const { instance } = await readDefinition(machine, timeoutMs);
    const armed = instance === null ? null : (readProcess(instance)?.armed ?? null);
    if (armed === null) return;
    await orderIsUsed(machine.domain, armed.evidence, { timeoutMs, signal });
    await this.#host.edits.run(machine.uuid, async () => {
      const definition = await readDefinition(machine, this.#host.timeoutMs);
      const { instance } = definition;
      if (instance === null || (readProcess(instance)?.armed ?? null) === null) return;
      await this.#finish(machine, definition);
    });
  }

  /** The once-order has been used: the machine's own holds again, and the override reads as disabled. */
  async #finish(machine: Machine, { xml, instance }: Definition): Promise<void> {
    // The process first: if this ends in between, the override still reads as pending and is found again.
    if (instance !== null) await this.#applyOrder(machine, instance, withOverrideUsed(xml));
    // Read again: QEMU took its time, and what was done meanwhile (virsh, another daemon's eject) must not be undone.
    const { hypervisor, timeoutMs } = this.#host;
    const { xml: from } = await readDefinition(machine, timeoutMs);
    await saveDefinition(hypervisor, machine, { from, to: withOverrideUsed(from) }, timeoutMs);
  }

  /** How often the drive that the override boots from has been read so far. */
  async #evidence(machine: Machine, { domain }: Instance, target: BootChoice): Promise<Armed['evidence']> {
    const [first] = orderWithFirst(domain, target);
    if (first?.device.kind !== 'disk') return null;
    const drive = first.device.target;
    const reads = await readsOf(machine.domain, drive, this.#host.timeoutMs);
    return reads === null ? null : { drive, reads };
  }

  /**
   * Whether the guest has restarted while no daemon watched. Firmware that boots from a drive reads it; a guest that reads the
   * drive by itself meanwhile looks the same. Without any trace the override stays pending.
   */
  async #hasBooted(machine: Machine, { evidence }: Armed): Promise<boolean> {
    if (evidence === null) return false;
    const reads = await readsOf(machine.domain, evidence.drive, this.#host.timeoutMs);
    return reads !== null && reads !== evidence.reads;
  }

  #inBackground(uuid: string, doing: string, work: (machine: Machine) => Promise<void>): void {
    const task = this.#host.inventory
      .find(uuid)
      .then(work)
      .catch((error: unknown) => {
        // Gone meanwhile, with its override.
        if (error instanceof DriverError && error.kind === 'notFound') return;
        this.#host.log.warn(`${doing} of machine ${uuid} failed`, { error });
      });
    this.#background.add(task);
    void task.then(() => this.#background.delete(task));
  }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}
