/**
 * Starting a machine, with the one-time boot order that waits in its metadata.
 *
 * QEMU hands the firmware its boot order at a machine reset, of which power-on is one. So the machine is started paused, by a copy
 * of its definition with the override's order (virDomainCreateXML: the persistent definition stays as it is); its QEMU is told the
 * machine's own order, for every later reset; and it is let go. The boot that begins then follows the override, all others do not,
 * and nobody has to be there to see to it. Verified on libvirt 9.0 and QEMU 7.2, SeaBIOS and OVMF.
 */
import { DomainCreateFlags, DomainState, isLibvirtError, type Domain } from '@rackless/libvirt';
import { afterUpdate } from '../firmware-update.js';
import {
  editDefinition,
  editRecord,
  readDefinition,
  readInactiveXml,
  saveDefinition,
  saveProcess,
  type Definition,
} from './definition.js';
import { attempt } from './failure.js';
import { START_TIMEOUT_MS, type Host } from './host.js';
import type { Machine } from './inventory.js';
import { bootRecordAfterBoot, hasDevice, onceDevice, withVariablesMade } from './boot-edit.js';
import { setQemuBootOrder } from './monitor.js';
import { withStartIntent } from './pending-settings.js';
import { isStarting, withStartingMark } from './process-record.js';
import { hasSavedState } from './saved-state.js';
import { bootIndexes, deviceKeys, effectiveBootOrder, restoreBootOrder, withBootOrder } from './xml/boot-order.js';
import { readDomain } from './xml/domain.js';
import { powerIntent, withIntent, withoutPowerIntent } from './xml/intent-record.js';
import { readMetadata, withMetadata, type MachineRecord } from './xml/metadata.js';

interface StartOutcome {
  /** Whether the guest boots by the once-order now. */
  readonly onceUsed: boolean;
  /** Whether it boots at all: one that was restored goes on, with the variables that it had. */
  readonly booted: boolean;
}

/** What is done to a machine before it is started. */
export interface StartPreparations {
  /** Changes its definition as clients have asked for. @returns whether it has changed. @throws {DriverError} */
  applySettings(machine: Machine, xml: string): Promise<boolean>;
  /** Makes its UEFI variables anew and keeps what the system has written there. @returns whether that is done. */
  carryVariables(machine: Machine, xml: string): Promise<boolean>;
  /** A machine went on from its saved state: tells it what has changed since. Never rejects; called in its turn of `edits`. */
  catchUp(machine: Machine): Promise<void>;
}

const nothingToPrepare: StartPreparations = {
  applySettings: () => Promise.resolve(false),
  carryVariables: () => Promise.resolve(false),
  catchUp: () => Promise.resolve(),
};

/** Starts machines that are off, and knows which starts were its own. */
export class ColdStart {
  readonly #host: Host;
  readonly #preparations: StartPreparations;
  /** Machines that are being started here, and by id those that were: their events are not somebody else's doing. */
  readonly #starting = new Set<string>();
  readonly #started = new Map<string, number>();

  constructor(host: Host, preparations: StartPreparations = nothingToPrepare) {
    this.#host = host;
    this.#preparations = preparations;
  }

  /** Whether a lifecycle event tells of a start of ours. */
  isOwn(uuid: string, id: number): boolean {
    return this.#starting.has(uuid) || this.#started.get(uuid) === id;
  }

  /** Whether the machine is being started here at this moment. */
  isStarting(uuid: string): boolean {
    return this.#starting.has(uuid);
  }

  /** After a new connection: a libvirtd that was restarted may have begun to count its instances anew. */
  forgetStarted(): void {
    this.#started.clear();
  }

  /**
   * Starts a machine that is off. The caller holds its turn in `edits`.
   * @throws {DriverError} what libvirt says, `conflict` where it is running already.
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

  /** Finishes what a daemon that ended in the middle of a start has left: a paused guest, or another's boot order. */
  async reconcile(machine: Machine, known: Definition): Promise<void> {
    const isPaused = known.instance !== null && isStarting(known.instance);
    if (!isPaused && (readMetadata(known.xml).boot?.saved ?? null) === null) return;
    await this.#host.edits.run(machine.uuid, async () => {
      const { hypervisor, timeoutMs } = this.#host;
      const { xml, instance } = await readDefinition(machine, timeoutMs);
      if (instance !== null && isStarting(instance)) {
        await this.#finishPausedStart(machine, machine.domain, xml);
        return;
      }
      // Started without a monitor, and not put back: see #startRedefined.
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
      // What the test driver says to START_PAUSED.
      if (isLibvirtError(error, 'INVALID_ARG', 'ARGUMENT_UNSUPPORTED', 'NO_SUPPORT')) {
        return await attempt(doing, () => this.#startRedefined(machine, xml, ordered, flags));
      }
      return await attempt(doing, () => Promise.reject(error as Error));
    }
    try {
      await this.#finishPausedStart(machine, domain, xml);
    } catch (error) {
      // Left paused it would look as if it were booting; left with the override's order it would boot by it for ever.
      await domain.destroy({ timeoutMs: START_TIMEOUT_MS }).catch(() => undefined);
      throw error;
    }
    return domain;
  }

  /** A saved machine goes on where it was, as what it was; its next boot is still to come. */
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
   * Makes the definition as the start uses it. A start that leaves a mark in the record is named in it first, so that a daemon which
   * ends after the start does not leave the mark out.
   */
  async #prepare(machine: Machine): Promise<string> {
    const { hypervisor, timeoutMs } = this.#host;
    const from = await readInactiveXml(machine, timeoutMs);
    if (await this.#preparations.applySettings(machine, from)) return await readInactiveXml(machine, timeoutMs);
    // A paused start is known by its mark.
    const once = onceDevice(from);
    if (once !== null && hasDevice(from, once)) return from;
    const record = readMetadata(from);
    if (finished(record, { onceUsed: once !== null, booted: true }) === record) return from;
    const to = withStartIntent(from);
    await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
    return to;
  }

  /** Tells the paused guest's QEMU the machine's own order, for its later resets, and lets it run. */
  async #finishPausedStart(machine: Machine, domain: Domain, xml: string): Promise<void> {
    const { log, timeoutMs } = this.#host;
    const { instance } = await readDefinition(machine, timeoutMs);
    if (instance === null) return;
    const order = deviceKeys(effectiveBootOrder(readDomain(xml)));
    const told = await setQemuBootOrder(domain, bootIndexes(instance.domain, order), timeoutMs);
    if (!told) {
      log.warn(
        `no access to the QEMU monitor of machine ${machine.name}: its one-time boot order holds until power-off`,
      );
    }
    const present = told ? order : deviceKeys(effectiveBootOrder(instance.domain));
    await attempt(`starting machine ${machine.name}`, async () => {
      const { state } = await domain.getState({ timeoutMs });
      // Somebody may have let it go already.
      if (state === DomainState.PAUSED) await domain.resume({ timeoutMs });
    });
    // In this order: as long as the override reads as pending, the mark says that this start is using it.
    await this.#settle(machine, { onceUsed: true, booted: true });
    await saveProcess(machine, { instance: instance.id, order: present, armed: null }, timeoutMs);
  }

  /**
   * For drivers that cannot start a machine paused: the override's order stands in the definition while the machine starts. It holds
   * until the machine is off, for there is no monitor to take it back by.
   */
  async #startRedefined(
    machine: Machine,
    xml: string,
    ordered: ReturnType<typeof withBootOrder>,
    flags: number,
  ): Promise<Domain> {
    const { hypervisor, log, timeoutMs } = this.#host;
    const record = readMetadata(xml);
    log.info(`machine ${machine.name} can not be started paused: its one-time boot order holds until power-off`);
    const boot = record.boot === null ? null : { ...record.boot, saved: ordered.saved };
    const redefined = withStartIntent(withMetadata(ordered.xml, { ...record, boot }));
    await hypervisor.domainDefineXml(redefined, 0, { timeoutMs });
    // Reads again: a start takes its time, and what somebody changed meanwhile is not to be undone.
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

  /** Finishes the record of a start that an earlier daemon has made. The caller holds the machine's turn in `edits`. */
  async settle(machine: Machine, { fresh }: { readonly fresh: boolean }): Promise<void> {
    if (!fresh) await this.#preparations.catchUp(machine);
    await editDefinition(this.#host, machine, (xml) => {
      const once = onceDevice(xml);
      const onceUsed = fresh && once !== null && !hasDevice(xml, once);
      return withMetadata(xml, finished(readMetadata(xml), { onceUsed, booted: fresh }));
    });
  }

  /** Writes what a start leaves of the record. Reads again: the start may have completed the definition, or a user changed it. */
  async #settle(machine: Machine, outcome: StartOutcome): Promise<void> {
    await editRecord(this.#host, machine, (record) => finished(record, outcome));
  }
}

/** The definition without a once-order that stands in it (`#startRedefined`); the same text where none does. */
function withOnceOrderRemoved(xml: string, { onceUsed }: Pick<StartOutcome, 'onceUsed'>): string {
  const record = readMetadata(xml);
  const { boot } = record;
  if (boot?.enabled !== 'once' || boot.saved === null) return xml;
  const left = { ...(onceUsed ? bootRecordAfterBoot(boot) : boot), saved: null };
  return withMetadata(restoreBootOrder(xml, boot.saved), { ...record, boot: left });
}

/** Returns the record with a firmware update that waited installed; the same object where none waited. */
export function withFirmwareInstalled(record: MachineRecord): MachineRecord {
  const update = record.owner?.firmwareUpdate;
  return update?.staged ? { ...record, owner: { ...record.owner, firmwareUpdate: afterUpdate(update) } } : record;
}

/** The same object where a start changes nothing. */
function finished(record: MachineRecord, { onceUsed, booted }: StartOutcome): MachineRecord {
  let result = booted ? withFirmwareInstalled(withVariablesMade(record)) : record;
  if (record.boot !== null && onceUsed) result = { ...result, boot: bootRecordAfterBoot(record.boot) };
  if (powerIntent(record.intents) === null) return result;
  return { ...result, intents: withoutPowerIntent(record.intents) };
}
