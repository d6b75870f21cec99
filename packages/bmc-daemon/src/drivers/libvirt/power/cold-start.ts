/**
 * Starts machines, with the one-time boot order that waits in their metadata.
 *
 * QEMU passes the boot order to the firmware at each machine reset, and power-on is the first reset. The daemon
 * therefore starts the machine paused, from a copy of its definition with the order of the override. virDomainCreateXML
 * leaves the persistent definition unchanged. Then the daemon sets the machine's own order in QEMU, for later resets,
 * and resumes the guest. Only this boot uses the override, even if the daemon ends. Verified on libvirt 9.0 and QEMU
 * 7.2, with SeaBIOS and OVMF.
 */
import { DomainCreateFlags, DomainState, isLibvirtError, type Domain } from '@rackless/libvirt';
import type { BootChoice } from '../../rules/boot-override.js';
import {
  editDefinition,
  editRecord,
  readDefinition,
  readInactiveXml,
  readInstance,
  saveDefinition,
  saveProcess,
  type Definition,
} from '../machine/definition.js';
import { attempt, hasEndedAtStart } from '../failure.js';
import { START_TIMEOUT_MS, type Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { onceDevice, presentOnceDevice } from '../machine/boot-edit.js';
import { setQemuBootOrder } from '../boot/monitor.js';
import { withStartIntent } from '../firmware/pending-settings.js';
import { addStartingMark, isStarting } from '../machine/process-record.js';
import { hasSavedState } from '../machine/saved-state.js';
import { edited, readValues } from '../xml/definition-edit.js';
import { bootIndexes, deviceKeys, effectiveBootOrder } from '../xml/os/boot-order.js';
import { overrideBootOrder } from '../xml/os/boot-order-edit.js';
import { readDomain } from '../xml/domain.js';
import { withIntent } from '../xml/metadata/intent-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { recordAfterStart, removeOnceOrder, type StartOutcome } from './start-record.js';

/** Steps before and after a start, which other modules implement. */
interface StartPreparations {
  /**
   * Applies the pending settings to the definition.
   * @returns whether the definition or its record has changed.
   * @throws {DriverError}
   */
  applySettings(machine: Machine, xml: string): Promise<boolean>;
  /**
   * Recreates the UEFI variables, and keeps those that the installed system has written. Never rejects.
   * @returns false if it recreated nothing. libvirt must then reset the variables.
   */
  recreateVariables(machine: Machine, xml: string): Promise<boolean>;
  /**
   * Applies changes to a guest that continued from its saved state. Never rejects. The caller has begun an edit in the
   * queue.
   */
  catchUp(machine: Machine): Promise<void>;
}

const nothingToPrepare: StartPreparations = {
  applySettings: () => Promise.resolve(false),
  recreateVariables: () => Promise.resolve(false),
  catchUp: () => Promise.resolve(),
};

/** Starts machines that are off, and recognizes the events that its own starts cause. */
export class ColdStart {
  readonly #host: Host;
  readonly #preparations: StartPreparations;
  /** Machines that this daemon is starting. */
  readonly #starting = new Set<string>();
  /** The id of the instance that this daemon started last, by machine. */
  readonly #started = new Map<string, number>();

  constructor(host: Host, preparations: StartPreparations = nothingToPrepare) {
    this.#host = host;
    this.#preparations = preparations;
  }

  /** Returns whether this daemon caused a start that libvirt reports. @param id the id of the instance. */
  isOwn(uuid: string, id: number): boolean {
    return this.#starting.has(uuid) || this.#started.get(uuid) === id;
  }

  /** Returns whether this daemon is starting the machine. */
  isStarting(uuid: string): boolean {
    return this.#starting.has(uuid);
  }

  /**
   * Forgets the instance ids of its starts. Call this after a new connection, because a restarted libvirtd may use the
   * ids again.
   */
  forgetStarted(): void {
    this.#started.clear();
  }

  /**
   * Starts a machine that is off. The caller has begun an edit in the queue.
   * @throws {DriverError} conflict, if the machine is running already; the kind of libvirt's error.
   */
  async start(machine: Machine): Promise<void> {
    this.#starting.add(machine.uuid);
    try {
      const domain = await this.#start(machine);
      this.#started.set(machine.uuid, domain.id);
    } finally {
      this.#starting.delete(machine.uuid);
      this.#host.inventory.forgetState(machine.uuid);
    }
  }

  /**
   * Starts a machine that was just forced off. libvirt may notice the end of a hung QEMU only during this start, and
   * then it ends the new QEMU, too. After such a failure, starts the machine once more.
   * @throws {DriverError} as {@link start}.
   */
  async startAfterDestroy(machine: Machine): Promise<void> {
    await this.start(machine).catch((error: unknown) => {
      if (!hasEndedAtStart(error)) throw error;
      return this.start(machine);
    });
  }

  /**
   * Completes a start that was in progress when the daemon ended: resumes a paused guest, or restores a changed boot
   * order.
   * @throws {DriverError} if that fails.
   */
  async reconcile(machine: Machine, known: Definition): Promise<void> {
    const isPaused = known.instance !== null && isStarting(known.instance);
    if (!isPaused && (readMetadata(known.xml).boot?.saved ?? null) === null) return;
    await this.#host.queue.edit(machine.uuid, async () => {
      const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
      if (instance !== null && isStarting(instance)) {
        await this.#finishPausedStart(machine, machine.domain, xml);
        return;
      }
      // The daemon ended between the change of the definition and its restoration in
      // #startRedefined.
      const to = edited(xml, (edit) => removeOnceOrder(edit, { onceUsed: instance !== null }));
      await saveDefinition(this.#host, machine, { from: xml, to });
    });
  }

  async #start(machine: Machine): Promise<Domain> {
    const { timeoutMs } = this.#host;
    const doing = `starting machine ${machine.name}`;
    if (await hasSavedState(machine, timeoutMs)) return await this.#resume(machine);
    const xml = await this.#prepare(machine);
    const values = readValues(xml);
    const { record } = values;
    const { resetNvram } = record;
    const isRecreated = resetNvram && (await this.#preparations.recreateVariables(machine, xml));
    const flags = resetNvram && !isRecreated ? DomainCreateFlags.START_RESET_NVRAM : 0;
    const once = presentOnceDevice(values);
    if (once === null) {
      const domain = await attempt(doing, () => machine.domain.createWithFlags(flags, { timeoutMs: START_TIMEOUT_MS }));
      const outcome = { onceUsed: onceDevice(record) !== null, booted: true };
      if (recordAfterStart(record, outcome) !== record) await this.#settle(machine, outcome);
      return domain;
    }
    const paused = edited(xml, (edit) => {
      overrideBootOrder(edit, once);
      addStartingMark(edit.xml);
    });
    let domain: Domain;
    try {
      domain = await this.#host.hypervisor.domainCreateXml(paused, flags | DomainCreateFlags.START_PAUSED, {
        timeoutMs: START_TIMEOUT_MS,
      });
    } catch (error) {
      // The test driver does not support START_PAUSED.
      if (isLibvirtError(error, 'INVALID_ARG', 'ARGUMENT_UNSUPPORTED', 'NO_SUPPORT')) {
        return await attempt(doing, () => this.#startRedefined(machine, xml, once, flags));
      }
      return await attempt(doing, () => Promise.reject(error as Error));
    }
    try {
      await this.#finishPausedStart(machine, domain, xml);
    } catch (error) {
      // The guest must not stay paused: clients would think that it boots, and each reset would use the order of the
      // override.
      await domain.destroy({ timeoutMs: START_TIMEOUT_MS }).catch(() => undefined);
      throw error;
    }
    return domain;
  }

  /** Starts a saved machine, which continues without a boot. */
  async #resume(machine: Machine): Promise<Domain> {
    const host = this.#host;
    await editRecord(host, machine, (record) => ({
      ...record,
      intents: withIntent(record.intents, { kind: 'start', fresh: false }),
    }));
    const domain = await attempt(`starting machine ${machine.name}`, () =>
      machine.domain.createWithFlags(0, { timeoutMs: START_TIMEOUT_MS }),
    );
    await this.#preparations.catchUp(machine);
    await this.#settle(machine, { onceUsed: false, booted: false });
    return domain;
  }

  /**
   * Applies pending settings, and returns the definition to start. If the start will change the record, adds an intent.
   * With it, a daemon that ends after the start completes the record when it runs again.
   */
  async #prepare(machine: Machine): Promise<string> {
    const { timeoutMs } = this.#host;
    const from = await readInactiveXml(machine, timeoutMs);
    if (await this.#preparations.applySettings(machine, from)) return await readInactiveXml(machine, timeoutMs);
    // A paused start needs no intent, because the process record has a mark for it.
    const values = readValues(from);
    if (presentOnceDevice(values) !== null) return from;
    const { record } = values;
    if (recordAfterStart(record, { onceUsed: onceDevice(record) !== null, booted: true }) === record) return from;
    const to = edited(from, (edit) => edit.editRecord(withStartIntent));
    await saveDefinition(this.#host, machine, { from, to });
    return to;
  }

  /**
   * Sets the machine's own boot order in the paused QEMU, for later resets, resumes the guest, and completes the
   * record. Without access to QEMU's monitor, logs that the one-time order applies until power-off.
   */
  async #finishPausedStart(machine: Machine, domain: Domain, xml: string): Promise<void> {
    const { log, timeoutMs } = this.#host;
    const instance = await readInstance(machine, timeoutMs);
    if (instance === null) return;
    const order = deviceKeys(effectiveBootOrder(readDomain(xml)));
    const isSet = await setQemuBootOrder(domain, bootIndexes(instance.domain, order), timeoutMs);
    if (!isSet) {
      log.warn(
        `no access to the QEMU monitor of machine ${machine.name}: its one-time boot order applies until power-off`,
      );
    }
    const current = isSet ? order : deviceKeys(effectiveBootOrder(instance.domain));
    await attempt(`starting machine ${machine.name}`, async () => {
      const { state } = await domain.getState({ timeoutMs });
      // Another client may have resumed the guest already.
      if (state === DomainState.PAUSED) await domain.resume({ timeoutMs });
    });
    // Updates the record before the mark is removed. While the override is pending, only the mark shows that this start
    // has used the override.
    await this.#settle(machine, { onceUsed: true, booted: true });
    await saveProcess(machine, instance, { order: current, armed: null }, timeoutMs);
  }

  /**
   * Starts a machine with a libvirt driver that cannot start it paused. During the start, the definition contains the
   * order of the override. The order applies until power-off, because there is no monitor to change it.
   */
  async #startRedefined(machine: Machine, xml: string, once: BootChoice, flags: number): Promise<Domain> {
    const { hypervisor, log, timeoutMs } = this.#host;
    log.info(`libvirt cannot start machine ${machine.name} paused: its one-time boot order applies until power-off`);
    const redefined = edited(xml, (edit) => {
      const saved = overrideBootOrder(edit, once);
      const { boot } = edit.record;
      edit.setRecord({ ...edit.record, boot: boot === null ? null : { ...boot, saved } });
      edit.editRecord(withStartIntent);
    });
    await hypervisor.domainDefineXml(redefined, 0, { timeoutMs });
    // Reads the definition again, because a start takes time. A change that another client made meanwhile must not be
    // lost.
    const restore = (outcome: StartOutcome): Promise<void> =>
      editDefinition(this.#host, machine, (edit) => {
        removeOnceOrder(edit, outcome);
        if (outcome.booted) edit.setRecord(recordAfterStart(edit.record, outcome));
      });
    try {
      const domain = await machine.domain.createWithFlags(flags, { timeoutMs: START_TIMEOUT_MS });
      await restore({ onceUsed: true, booted: true });
      return domain;
    } catch (error) {
      await restore({ onceUsed: false, booted: false }).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Completes the record of a start that libvirt completed, but after which the daemon ended. The caller has begun an
   * edit in the queue.
   * @param options fresh: true: the guest booted; false: it continued from its saved state.
   */
  async settle(machine: Machine, { fresh }: { readonly fresh: boolean }): Promise<void> {
    if (!fresh) await this.#preparations.catchUp(machine);
    await editDefinition(this.#host, machine, (edit) => {
      const onceUsed = fresh && onceDevice(edit.record) !== null && presentOnceDevice(edit) === null;
      edit.setRecord(recordAfterStart(edit.record, { onceUsed, booted: fresh }));
    });
  }

  /**
   * Completes the record after a start. Reads the definition again, because libvirt may have added to it, or a user may
   * have changed it.
   */
  async #settle(machine: Machine, outcome: StartOutcome): Promise<void> {
    await editRecord(this.#host, machine, (record) => recordAfterStart(record, outcome));
  }
}
