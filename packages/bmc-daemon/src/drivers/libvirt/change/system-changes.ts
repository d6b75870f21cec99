/**
 * Applies a client's change of a machine completely or not at all. Collects the inputs (firmware files, image) first,
 * then reads, edits and writes the definition once.
 *
 * The guest's drive, libvirt's autostart and the boot order of a running QEMU are outside the definition. Before the
 * daemon changes one of these, it writes an intent into the definition (see `xml/metadata/intent-record.ts`). After a
 * crash and a restart, it completes the change. A single step that is the whole change has no intent.
 */
import { DriverError } from '../../driver-error.js';
import type { ChangeOptions, InsertOptions } from '../../operation-options.js';
import type { CompleteSnapshot, SystemSnapshot } from '../../snapshot/system-snapshot.js';
import { changesOverride } from '../../rules/boot-override.js';
import { checkFirmware, checkPersistence, type SystemChange } from '../../system-change.js';
import type { BootControl } from '../boot/boot-control.js';
import { autostartStep, cdEffectOf, driveStep, type NewImage, type Step } from './change-steps.js';
import {
  forgetDone,
  instanceOf,
  readForChange,
  readInactiveXml,
  readInstance,
  saveDefinition,
  type Definition,
} from '../machine/definition.js';
import { checkEarly } from '../media/early-check.js';
import type { FirmwareChooser } from '../firmware/firmware-choice.js';
import type { Host } from '../machine/host.js';
import type { ImageLease } from '../media/stored-images.js';
import type { Machine } from '../machine/inventory.js';
import type { LibvirtMedia } from '../media/libvirt-media.js';
import { ejectMedia, insertMedia } from '../media/media-definition.js';
import type { Variables } from '../firmware/nvram.js';
import { applyDrive } from '../media/guest-media.js';
import { editSystem, type ChangeFiles } from './system-edit.js';
import type { ReadXml } from '../read/current-readings.js';
import type { SystemReader } from '../read/system-reader.js';
import { DefinitionEdit } from '../xml/definition-edit.js';
import { readDomain } from '../xml/domain.js';
import { withIntent, withoutIntent, type Intent } from '../xml/metadata/intent-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { readSnapshot } from '../xml/snapshot.js';

/** Dependencies of {@link SystemChanges}. */
interface SystemChangesOptions {
  readonly host: Host;
  readonly reader: SystemReader;
  readonly boot: BootControl;
  readonly media: Pick<LibvirtMedia, 'acquire'>;
  readonly firmware: FirmwareChooser;
  readonly variables: Pick<Variables, 'recreateNow'>;
  /** Called after a change that may take an image out of a drive, and if a change with a downloaded image fails. */
  readonly removeUnusedImages: () => Promise<void>;
}

/** The inputs of a change, collected before the definition is read. */
interface Prepared {
  readonly change: SystemChange;
  readonly files: ChangeFiles;
  readonly lease: ImageLease | null;
}

/** The change of a definition, with the steps outside it. */
interface Plan {
  readonly from: string;
  readonly edit: DefinitionEdit;
  readonly steps: readonly Step[];
  /** Records of the steps, and of a new boot order in QEMU. A restarted daemon completes those that it finds. */
  readonly intents: readonly Intent[];
}

const noFiles: ChangeFiles = { firmware: null, secureBoot: null };

/** Changes of the machines of one host. */
export class SystemChanges {
  readonly #options: SystemChangesOptions;
  readonly #host: Host;

  constructor(options: SystemChangesOptions) {
    this.#options = options;
    this.#host = options.host;
  }

  /** @see HypervisorDriver.change */
  async change(machine: Machine, change: SystemChange, options: ChangeOptions): Promise<void> {
    const { variables, removeUnusedImages } = this.#options;
    const { queue } = this.#host;
    checkPersistence(machine, change);
    const files = await this.#files(machine, change);
    const { cd } = change;
    const commit = (basis?: SystemSnapshot): Promise<void> =>
      this.#commit(machine, { change, files, lease: null }, basis);
    // A change that has waited for files or other operations does not use the snapshot of the request, and reads the
    // machine again.
    if (cd === undefined) await commit(files === noFiles ? options.basis : undefined);
    else if (cd.image === null) await queue.eject(machine, 'cdrom', () => commit(), options);
    else {
      const insert = (signal: AbortSignal): Promise<void> =>
        this.#withImage(machine, { change, files }, { ...options, signal });
      await queue.insert(machine, 'cdrom', insert, options);
    }
    if (cd !== undefined && (cd.image === null || cd.replaces !== undefined)) await removeUnusedImages();
    if (change.boot?.firmware !== undefined || change.secureBoot !== undefined) await variables.recreateNow(machine);
  }

  /** Completes changes that were in progress when the daemon ended. @throws {DriverError} if that fails. */
  async reconcile(machine: Machine, { xml }: Definition): Promise<void> {
    if (readMetadata(xml).intents === null) return;
    const { queue, timeoutMs } = this.#host;
    await queue.edit(machine.uuid, async () => {
      const { intents } = readMetadata(await readInactiveXml(machine, timeoutMs));
      for (const intent of intents ?? []) {
        if (intent.kind === 'autostart') await autostartStep(this.#host, machine, intent.on).run();
        else if (intent.kind === 'drive') await applyDrive(this.#host, machine, intent.device);
        else if (intent.kind === 'order') await this.#options.boot.applyOrder(machine);
        else continue;
        await this.#forget(machine, [intent]);
        if (intent.kind === 'drive') await this.#options.removeUnusedImages();
      }
    });
  }

  /** Finds firmware files before the definition is read, as a file system may be slow. @throws {DriverError} */
  async #files(machine: Machine, change: SystemChange): Promise<ChangeFiles> {
    const { boot, secureBoot, settings } = change;
    if (boot?.firmware === undefined && secureBoot === undefined && settings?.secureBoot !== true) {
      return noFiles;
    }
    const { reader, firmware: chooser } = this.#options;
    const { system, inactiveXml } = await reader.recent(machine);
    checkFirmware(system, change);
    if (settings?.secureBoot === true || (secureBoot !== undefined && secureBoot !== 'off')) {
      await chooser.checkSecureBoot(system, inactiveXml);
    }
    const { os } = readDomain(inactiveXml);
    const loader = os.firmware === null ? (os.loader?.path ?? null) : null;
    const type = boot?.firmware;
    return {
      firmware: type === undefined ? null : { type, choice: await chooser.bootModeFiles(type, os.architecture) },
      secureBoot: secureBoot === undefined ? null : await chooser.secureBootFiles(os.architecture, secureBoot, loader),
    };
  }

  async #withImage(
    machine: Machine,
    prepared: Pick<Prepared, 'change' | 'files'>,
    options: InsertOptions & { readonly signal: AbortSignal },
  ): Promise<void> {
    const { cd } = prepared.change;
    if (cd?.image === undefined || cd.image === null) return;
    // Checks the change before the download. A change that keeps the image in the drive, or has an invalid part, must
    // not cost a download.
    const needsImage = await checkEarly(this.#options, machine, (definition) => {
      if (cdEffectOf(machine, definition, cd) !== 'insert') return false;
      this.#edit(machine, definition, new DefinitionEdit(definition.xml), prepared);
      return true;
    });
    if (!needsImage) {
      await this.#commit(machine, { ...prepared, lease: null });
      return;
    }
    const lease = await this.#options.media.acquire('cdrom', cd.image, options);
    try {
      options.signal.throwIfAborted();
      await this.#commit(machine, { ...prepared, lease });
    } catch (error) {
      lease.release();
      // The change has failed, so its downloaded image is removed.
      await this.#options.removeUnusedImages();
      throw error;
    }
    lease.release();
  }

  /** @param basis the snapshot against which the request was checked. It is used only if it is still current. */
  async #commit(machine: Machine, prepared: Prepared, basis?: SystemSnapshot): Promise<void> {
    const { queue, timeoutMs } = this.#host;
    const { boot, bootOrder, cd } = prepared.change;
    const affectsGuest = boot !== undefined || bootOrder !== undefined || cd !== undefined;
    // Does not use the snapshot while an edit runs, because this edit may change the machine.
    const known = queue.isEditing(machine.uuid) ? undefined : this.#options.reader.current.xmlOf(machine.uuid, basis);
    await queue.edit(machine.uuid, async () => {
      const definition = await this.#read(machine, affectsGuest, known);
      const plan = this.#plan(machine, definition, prepared);
      await this.#carryOut(machine, plan, async () => {
        if (boot !== undefined && changesOverride(boot)) this.#options.boot.stopResetWait(machine.uuid);
        if (definition.instance === null) return;
        // Reads the machine again, because its boot order may contain a drive that was just plugged in.
        const instance = plan.steps.some(({ changesDevices }) => changesDevices)
          ? await readInstance(machine, timeoutMs)
          : definition.instance;
        if (instance !== null) await this.#options.boot.applyOrderIfRunning(machine, instance, plan.edit);
      });
    });
  }

  async #read(machine: Machine, affectsGuest: boolean, known: ReadXml | undefined): Promise<Definition> {
    if (!affectsGuest) {
      return { xml: known?.inactiveXml ?? (await readInactiveXml(machine, this.#host.timeoutMs)), instance: null };
    }
    if (known === undefined) return await readForChange(this.#host, machine);
    return { xml: known.inactiveXml, instance: known.liveXml === null ? null : instanceOf(known.liveXml) };
  }

  #plan(machine: Machine, definition: Definition, prepared: Prepared): Plan {
    const { autostart, bootOrder } = prepared.change;
    const edit = new DefinitionEdit(definition.xml);
    const driveSteps = this.#editDrive(machine, definition, edit, prepared);
    this.#edit(machine, definition, edit, prepared);
    const steps = [...driveSteps, ...(autostart === undefined ? [] : [autostartStep(this.#host, machine, autostart)])];
    // An override needs no intent, because the record of the override contains the order for QEMU.
    const setsOrder = bootOrder !== undefined && definition.instance !== null;
    const orderIntents: readonly Intent[] = setsOrder ? [{ kind: 'order' }] : [];
    return {
      from: definition.xml,
      edit,
      steps,
      intents: [...steps.map(({ intent }) => intent), ...orderIntents],
    };
  }

  /** Changes the image in the CD drive. @returns the steps in the running guest. @throws {DriverError} */
  #editDrive(
    machine: Machine,
    definition: Definition,
    edit: DefinitionEdit,
    { change: { cd }, lease }: Prepared,
  ): readonly Step[] {
    const { instance } = definition;
    const effect = cd === undefined ? 'keep' : cdEffectOf(machine, definition, cd);
    if (cd === undefined || effect === 'keep') return [];
    const steps = (image: NewImage | null): readonly Step[] =>
      instance === null ? [] : [driveStep(this.#host, machine, { ...definition, instance }, image)];
    ejectMedia(machine, edit, 'cdrom');
    if (cd.image === null) return steps(null);
    // Before the change waited in the queue, the drive had the image, so nothing was downloaded. Another client has
    // emptied the drive meanwhile.
    if (lease === null) throw new DriverError('conflict', `changing machine ${machine.name}: its drive was emptied`);
    const insertion = { device: 'cdrom', image: cd.image, place: lease, stick: '' } as const;
    const target = insertMedia(machine, edit, instance, insertion);
    return steps({ target, source: lease.source });
  }

  /**
   * Changes the definition, except the image in the CD drive.
   * @throws {DriverError} for a part that the machine does not support.
   */
  #edit(
    machine: Machine,
    { xml, instance }: Definition,
    edit: DefinitionEdit,
    { change, files }: Pick<Prepared, 'change' | 'files'>,
  ): void {
    const system = (): CompleteSnapshot =>
      readSnapshot(xml, instance?.xml ?? null, {
        state: instance === null ? 'shutoff' : 'running',
        persistent: machine.persistent,
        capacityBytes: new Map(),
      });
    if (change.settings !== undefined || change.secureBoot !== undefined) checkFirmware(system(), change);
    editSystem(machine, edit, { change, files, system });
  }

  /** Applies all parts of a plan, or reverts them. @param updateGuest updates the running guest after all steps. */
  async #carryOut(
    machine: Machine,
    { from, edit, steps, intents }: Plan,
    updateGuest: () => Promise<void>,
  ): Promise<void> {
    const save = (change: { from: string; to: string }): Promise<void> => saveDefinition(this.#host, machine, change);
    // A single step without a change of the definition needs no intent, because it is atomic.
    const needsIntents = intents.length > 1 || (intents.length === 1 && edit.isChanged());
    if (needsIntents) {
      edit.editRecord((record) => ({ ...record, intents: intents.reduce(withIntent, record.intents) }));
    }
    const to = edit.text();
    await save({ from, to });
    const undo: (() => Promise<void>)[] = [];
    try {
      for (const { run } of steps) undo.unshift(await run());
      await updateGuest();
    } catch (error) {
      for (const revert of [...undo, () => save({ from: to, to: from })]) {
        await revert().catch((reason: unknown) => {
          this.#host.log.warn(`reverting a change of machine ${machine.name} failed`, { error: reason });
        });
      }
      throw error;
    }
    if (needsIntents) await this.#forget(machine, intents);
  }

  async #forget(machine: Machine, intents: readonly Intent[]): Promise<void> {
    await forgetDone(this.#host, machine, (record) => ({
      ...record,
      intents: intents.reduce(withoutIntent, record.intents),
    }));
  }
}
