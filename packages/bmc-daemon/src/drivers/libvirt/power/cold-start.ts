/**
 * Starts machines, with the once boot order that waits in their metadata.
 *
 * QEMU passes the boot order to the firmware at each machine reset, and power-on is the first
 * reset. The daemon therefore starts the machine paused, from a copy of its definition with the
 * order of the override. virDomainCreateXML leaves the persistent definition unchanged. Then the
 * daemon sets the order of the machine in QEMU, for later resets, and resumes the guest. Only this
 * boot uses the override, even if the daemon ends. Verified on libvirt 9.0 and QEMU 7.2, with
 * SeaBIOS and OVMF.
 */
import { DomainCreateFlags, DomainState, isLibvirtError, type Domain } from '@rackless/libvirt';
import { afterUpdate } from '../../rules/firmware-update.js';
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
import { attempt } from '../failure.js';
import { START_TIMEOUT_MS, type Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { bootRecordAfterBoot, hasDevice, onceDevice, withVariablesMade } from '../machine/boot-edit.js';
import { setQemuBootOrder } from '../boot/monitor.js';
import { withStartIntent } from '../firmware/pending-settings.js';
import { isStarting, withStartingMark } from '../machine/process-record.js';
import { hasSavedState } from '../machine/saved-state.js';
import { bootIndexes, deviceKeys, effectiveBootOrder, restoreBootOrder, withBootOrder } from '../xml/os/boot-order.js';
import { readDomain } from '../xml/domain.js';
import { powerIntent, withIntent, withoutPowerIntent } from '../xml/metadata/intent-record.js';
import { readMetadata, withMetadata } from '../xml/metadata/metadata.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';

interface StartOutcome {
  /** Whether this boot uses the once order. */
  readonly onceUsed: boolean;
  /** Whether the guest boots. A restored guest continues with its variables. */
  readonly booted: boolean;
}

/** Work around a start that other modules do. */
interface StartPreparations {
  /**
   * Applies the pending settings to the definition.
   * @returns whether the definition has changed.
   * @throws {DriverError}
   */
  applySettings(machine: Machine, xml: string): Promise<boolean>;
  /**
   * Makes the UEFI variables again, with what the installed system has written.
   * @returns whether that succeeded.
   */
  carryVariables(machine: Machine, xml: string): Promise<boolean>;
  /**
   * Applies changes to a guest that continued from its saved state. Never rejects. The caller has
   * begun an edit in the queue.
   */
  catchUp(machine: Machine): Promise<void>;
}

const nothingToPrepare: StartPreparations = {
  applySettings: () => Promise.resolve(false),
  carryVariables: () => Promise.resolve(false),
  catchUp: () => Promise.resolve(),
};

/** Starts machines that are off, and recognizes the events of its own starts. */
export class ColdStart {
  readonly #host: Host;
  readonly #preparations: StartPreparations;
  /** Machines that this daemon is starting. `#started`: the instance id that it started last. */
  readonly #starting = new Set<string>();
  readonly #started = new Map<string, number>();

  constructor(host: Host, preparations: StartPreparations = nothingToPrepare) {
    this.#host = host;
    this.#preparations = preparations;
  }

  /** Returns whether this daemon caused a start that libvirt reports. */
  isOwn(uuid: string, id: number): boolean {
    return this.#starting.has(uuid) || this.#started.get(uuid) === id;
  }

  /** Returns whether this daemon is starting the machine. */
  isStarting(uuid: string): boolean {
    return this.#starting.has(uuid);
  }

  /**
   * Forgets instance ids after a new connection, because a restarted libvirtd may use them again.
   */
  forgetStarted(): void {
    this.#started.clear();
  }

  /**
   * Starts a machine that is off. The caller has begun an edit in the queue.
   * @throws {DriverError} conflict, if it is running; else the error of libvirt.
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
   * Finishes a start that an earlier daemon has begun: resumes a paused guest, or restores a
   * changed boot order.
   */
  async reconcile(machine: Machine, known: Definition): Promise<void> {
    const isPaused = known.instance !== null && isStarting(known.instance);
    if (!isPaused && (readMetadata(known.xml).boot?.saved ?? null) === null) return;
    await this.#host.queue.edit(machine.uuid, async () => {
      const { hypervisor, timeoutMs } = this.#host;
      const { xml, instance } = await readDefinition(machine, timeoutMs);
      if (instance !== null && isStarting(instance)) {
        await this.#finishPausedStart(machine, machine.domain, xml);
        return;
      }
      // A start without a monitor that was not restored: see #startRedefined.
      const to = withOnceOrderRemoved(xml, { onceUsed: instance !== null });
      await saveDefinition(hypervisor, machine, { from: xml, to }, timeoutMs);
    });
  }

  async #start(machine: Machine): Promise<Domain> {
    const { timeoutMs } = this.#host;
    const doing = `starting machine ${machine.name}`;
    if (await hasSavedState(machine, timeoutMs)) return await this.#resume(machine);
    const xml = await this.#prepare(machine);
    const record = readMetadata(xml);
    const { resetNvram } = record;
    const carried = resetNvram && (await this.#preparations.carryVariables(machine, xml));
    const flags = resetNvram && !carried ? DomainCreateFlags.START_RESET_NVRAM : 0;
    const once = onceDevice(xml);
    if (once === null || !hasDevice(xml, once)) {
      const domain = await attempt(doing, () => machine.domain.createWithFlags(flags, { timeoutMs: START_TIMEOUT_MS }));
      const outcome = { onceUsed: once !== null, booted: true };
      if (finished(record, outcome) !== record) await this.#settle(machine, outcome);
      return domain;
    }
    const ordered = withBootOrder(xml, once);
    let domain: Domain;
    try {
      domain = await this.#host.hypervisor.domainCreateXml(
        withStartingMark(ordered.xml),
        flags | DomainCreateFlags.START_PAUSED,
        { timeoutMs: START_TIMEOUT_MS },
      );
    } catch (error) {
      // The test driver does not support START_PAUSED.
      if (isLibvirtError(error, 'INVALID_ARG', 'ARGUMENT_UNSUPPORTED', 'NO_SUPPORT')) {
        return await attempt(doing, () => this.#startRedefined(machine, xml, ordered, flags));
      }
      return await attempt(doing, () => Promise.reject(error as Error));
    }
    try {
      await this.#finishPausedStart(machine, domain, xml);
    } catch (error) {
      // A paused guest would look like a booting one, and the override's order would be used at
      // every reset.
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
   * Prepares the definition. If the start changes the record, the record names the start first. A
   * daemon that ends after the start then leaves a record that the next daemon completes.
   */
  async #prepare(machine: Machine): Promise<string> {
    const { hypervisor, timeoutMs } = this.#host;
    const from = await readInactiveXml(machine, timeoutMs);
    if (await this.#preparations.applySettings(machine, from)) return await readInactiveXml(machine, timeoutMs);
    // The mark in the process record already names a paused start.
    const once = onceDevice(from);
    if (once !== null && hasDevice(from, once)) return from;
    const record = readMetadata(from);
    if (finished(record, { onceUsed: once !== null, booted: true }) === record) return from;
    const to = withStartIntent(from);
    await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
    return to;
  }

  /** Sets the order of the machine in the paused QEMU, for later resets, and resumes the guest. */
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
    const present = isSet ? order : deviceKeys(effectiveBootOrder(instance.domain));
    await attempt(`starting machine ${machine.name}`, async () => {
      const { state } = await domain.getState({ timeoutMs });
      // Another client may have resumed it.
      if (state === DomainState.PAUSED) await domain.resume({ timeoutMs });
    });
    // The record comes first: while the override is pending, the mark shows that this start uses
    // it.
    await this.#settle(machine, { onceUsed: true, booted: true });
    await saveProcess(machine, { instance: instance.id, order: present, armed: null }, timeoutMs);
  }

  /**
   * Starts a machine with a libvirt driver that cannot start it paused. The definition has the
   * order of the override during the start. The order applies until power-off, because there is no
   * monitor to change it.
   */
  async #startRedefined(
    machine: Machine,
    xml: string,
    ordered: ReturnType<typeof withBootOrder>,
    flags: number,
  ): Promise<Domain> {
    const { hypervisor, log, timeoutMs } = this.#host;
    const record = readMetadata(xml);
    log.info(`machine ${machine.name} cannot start paused: its one-time boot order applies until power-off`);
    const boot = record.boot === null ? null : { ...record.boot, saved: ordered.saved };
    const redefined = withStartIntent(withMetadata(ordered.xml, { ...record, boot }));
    await hypervisor.domainDefineXml(redefined, 0, { timeoutMs });
    // Reads again, because a start takes time. A change by another client meanwhile must stay.
    const putBack = (outcome: StartOutcome): Promise<void> =>
      editDefinition(this.#host, machine, (from) => {
        const own = withOnceOrderRemoved(from, outcome);
        return outcome.booted ? withMetadata(own, finished(readMetadata(own), outcome)) : own;
      });
    try {
      const domain = await machine.domain.createWithFlags(flags, { timeoutMs: START_TIMEOUT_MS });
      await putBack({ onceUsed: true, booted: true });
      return domain;
    } catch (error) {
      await putBack({ onceUsed: false, booted: false }).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Completes the record of a start by an earlier daemon. The caller has begun an edit in the queue.
   */
  async settle(machine: Machine, { fresh }: { readonly fresh: boolean }): Promise<void> {
    if (!fresh) await this.#preparations.catchUp(machine);
    await editDefinition(this.#host, machine, (xml) => {
      const once = onceDevice(xml);
      const onceUsed = fresh && once !== null && !hasDevice(xml, once);
      return withMetadata(xml, finished(readMetadata(xml), { onceUsed, booted: fresh }));
    });
  }

  /**
   * Completes the record after a start. Reads again, because libvirt may have completed the
   * definition, or a user has changed it.
   */
  async #settle(machine: Machine, outcome: StartOutcome): Promise<void> {
    await editRecord(this.#host, machine, (record) => finished(record, outcome));
  }
}

/**
 * Removes a once order from the definition (`#startRedefined`).
 * @returns the same text if it has none.
 */
function withOnceOrderRemoved(xml: string, { onceUsed }: Pick<StartOutcome, 'onceUsed'>): string {
  const record = readMetadata(xml);
  const { boot } = record;
  if (boot?.enabled !== 'once' || boot.saved === null) return xml;
  const left = { ...(onceUsed ? bootRecordAfterBoot(boot) : boot), saved: null };
  return withMetadata(restoreBootOrder(xml, boot.saved), { ...record, boot: left });
}

/**
 * Returns the record with a staged firmware update installed; the same object if none was staged.
 */
export function withFirmwareInstalled(record: MachineRecord): MachineRecord {
  const update = record.owner?.firmwareUpdate;
  return update?.staged ? { ...record, owner: { ...record.owner, firmwareUpdate: afterUpdate(update) } } : record;
}

/** Returns the record after a start; the same object if the start changes nothing. */
function finished(record: MachineRecord, { onceUsed, booted }: StartOutcome): MachineRecord {
  let result = booted ? withFirmwareInstalled(withVariablesMade(record)) : record;
  if (record.boot !== null && onceUsed) result = { ...result, boot: bootRecordAfterBoot(record.boot) };
  if (powerIntent(record.intents) === null) return result;
  return { ...result, intents: withoutPowerIntent(record.intents) };
}
