/**
 * The steps of a change that do not edit the definition: they set libvirt's autostart, or change the image in
 * the guest's drive. The daemon records the steps in the definition before they run, so that it can finish them
 * after it restarts. A change with only one step, and without a new definition, needs no record.
 */
import { cdEffect, type CdChange } from '../../system-change.js';
import { attempt } from '../failure.js';
import { readDefinition, type Definition } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import { changeDrive, ejectFromGuest, needsUnplug, plugIn } from '../media/drive-hotplug.js';
import { driveState } from '../media/drive-state.js';
import { isHotplugged } from '../xml/devices/cdrom.js';
import { mediaSourceOf, type MediaSource } from '../xml/devices/disk-source.js';
import { readDomain } from '../xml/domain.js';
import type { Intent } from '../xml/metadata/intent-record.js';
import { mediaRecord } from '../xml/metadata/media-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/** One step of a change. It does not edit the definition. */
export interface Step {
  readonly intent: Intent;
  /**
   * Runs the step.
   * @returns a function that reverts it.
   * @throws {DriverError} if the step fails. It has then changed nothing.
   */
  readonly run: () => Promise<() => Promise<void>>;
  /** Whether the running guest gets or loses a device. */
  readonly changesDevices: boolean;
}

/** An image for a drive of the guest. */
export interface NewImage {
  /** Name of the drive in the definition. */
  readonly target: string;
  readonly source: MediaSource;
}

const noRevert = (): Promise<void> => Promise.resolve();

/** Returns the step that changes whether the machine starts with its host. */
export function autostartStep({ timeoutMs }: Pick<Host, 'timeoutMs'>, { name, domain }: Machine, on: boolean): Step {
  const doing = `changing the autostart of machine ${name}`;
  const set = (value: boolean): Promise<void> => attempt(doing, () => domain.setAutostart(value, { timeoutMs }));
  const run = async (): Promise<() => Promise<void>> => {
    const former = await attempt(doing, () => domain.getAutostart({ timeoutMs }));
    if (former === on) return noRevert;
    await set(on);
    return () => set(former);
  };
  return { intent: { kind: 'autostart', on }, run, changesDevices: false };
}

/**
 * Returns the step that changes the image in the CD drive of the running guest. Plugs in a drive if the guest has
 * none. Unplugs a hot-plugged drive together with its image.
 * @param image null: empties the drive.
 * @throws {DriverError} internal, if the XML is not a domain.
 */
export function driveStep(
  host: Host,
  machine: Machine,
  definition: Definition & { readonly instance: Instance },
  image: NewImage | null,
): Step {
  const { instance } = definition;
  const { running } = driveState(definition, 'cdrom', undefined);
  const run = async (): Promise<() => Promise<void>> => {
    if (running === null) return image === null ? noRevert : await plug(host, machine, instance, image);
    const { target } = running;
    const former = mediaSourceOf(running);
    const setMedia = (media: MediaSource | null): Promise<void> =>
      changeDrive(host, machine, instance, { target, media });
    if (image !== null) {
      await setMedia(image.source);
      return () => setMedia(former);
    }
    await ejectFromGuest(host, machine, definition, target);
    if (former === null || !isHotplugged(running, readDomain(definition.xml))) return () => setMedia(former);
    // The drive was unplugged together with its image, so the revert plugs it in.
    return async () => {
      const { instance: current } = await readDefinition(machine, host.timeoutMs);
      if (current !== null) await plug(host, machine, current, { target, source: former });
    };
  };
  const changesDevices =
    running === null ? image !== null : image === null && needsUnplug(running, readDomain(definition.xml));
  return { intent: { kind: 'drive', device: 'cdrom' }, run, changesDevices };
}

/**
 * Plugs in a drive, if the guest accepts one now.
 * @returns a function that unplugs the drive; it does nothing if the guest accepted none.
 * @throws as {@link plugIn}.
 */
async function plug(
  host: Host,
  machine: Machine,
  instance: Instance,
  { target, source }: NewImage,
): Promise<() => Promise<void>> {
  const plugged = await plugIn(host, machine, instance, { device: 'cdrom', target, readonly: true }, source);
  if (plugged === null) return noRevert;
  return async () => ejectFromGuest(host, machine, await readDefinition(machine, host.timeoutMs), plugged);
}

/** Returns the effect of a change on the image in the CD drive. @throws {DriverError} mediaInUse. */
export function cdEffectOf({ name }: Machine, definition: Definition, cd: CdChange): ReturnType<typeof cdEffect> {
  const media = mediaRecord(readMetadata(definition.xml).media, 'cdrom');
  const { source } = driveState(definition, 'cdrom', media);
  const viaUri = source !== null && media?.source === source;
  return cdEffect({ inserted: source !== null, viaUri, image: viaUri ? media.image : source }, cd, name);
}
