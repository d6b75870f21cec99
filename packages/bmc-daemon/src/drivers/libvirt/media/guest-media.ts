/**
 * Makes the drives of a running guest equal to those of the definition. A guest that continues from
 * its saved state (libvirt's managed save) still has the images from the time of the save. Later
 * inserts and ejects are only in the definition, and so is a change that a crash of the daemon
 * interrupted.
 */
import { basename } from 'node:path/posix';
import { isStoredImageName } from '../../../media/image-key.js';
import { MEDIA_DEVICES, type MediaDevice } from '../../snapshot/media-snapshot.js';
import { readDefinition } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { changeDrive, ejectFromGuest, plugIn } from './drive-hotplug.js';
import { driveState } from './drive-state.js';
import { isHotplugged } from '../xml/devices/cdrom.js';
import type { Disk } from '../xml/devices/device.js';
import { mediaSourceOf } from '../xml/devices/disk-source.js';
import { readDomain } from '../xml/domain.js';
import { mediaRecord } from '../xml/metadata/media-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/**
 * Applies all drives of the definition to a guest that has continued from its saved state. Never
 * rejects, because the guest runs in any case, and clients see the images that are really in its
 * drives. The caller has begun an edit in the queue.
 */
export async function applyAllDrives(host: Host, machine: Machine): Promise<void> {
  const steps = [
    () => unplugEjected(host, machine),
    ...MEDIA_DEVICES.map((device) => () => changeOrPlug(host, machine, device)),
  ];
  for (const step of steps) {
    await step().catch((error: unknown) => {
      const message = `machine ${machine.name} continued from its saved state, but applying a later change of its images failed`;
      host.log.warn(message, { error });
    });
  }
}

/**
 * Applies one drive of the definition to the guest, and unplugs the ejected images of all drives. If the guest
 * accepts no new drive, it gets the image at its next start. The caller has begun an edit in the queue.
 * @throws {DriverError} unavailable, also if the guest does not release a drive; the kind of libvirt's error.
 */
export async function applyDrive(host: Host, machine: Machine, device: MediaDevice): Promise<void> {
  await unplugEjected(host, machine);
  await changeOrPlug(host, machine, device);
}

/**
 * Unplugs USB sticks and hot-plugged drives whose image is no longer in the definition. Does not unplug a drive with an
 * image that the daemon has not downloaded.
 * @throws {DriverError} notFound; unavailable, also if the guest does not release the drive; the kind of libvirt's
 *   error.
 */
async function unplugEjected(host: Host, machine: Machine): Promise<void> {
  const definition = await readDefinition(machine, host.timeoutMs);
  const { xml, instance } = definition;
  const defined = readDomain(xml);
  const wanted = new Set(defined.devices.disks.map(({ source }) => source.name));
  const isEjected = (disk: Disk): boolean =>
    ((disk.device === 'disk' && disk.bus === 'usb') || isHotplugged(disk, defined)) &&
    isStoredImage(disk.source.name) &&
    !wanted.has(disk.source.name);
  for (const { target } of instance?.domain.devices.disks.filter(isEjected) ?? []) {
    await ejectFromGuest(host, machine, definition, target);
  }
}

async function changeOrPlug(host: Host, machine: Machine, device: MediaDevice): Promise<void> {
  const definition = await readDefinition(machine, host.timeoutMs);
  const { xml, instance } = definition;
  const media = mediaRecord(readMetadata(xml).media, device);
  const { defined, running } = driveState(definition, device, media);
  if (instance === null || defined === null) return;
  const wanted = defined.source.name;
  if (wanted === null) {
    if (running !== null && running.source.name !== null)
      await ejectFromGuest(host, machine, definition, running.target);
    return;
  }
  // The image may be in another device: the image of a floppy drive is a USB stick if it was
  // inserted while the guest ran.
  if (instance.domain.devices.disks.some(({ source }) => source.name === wanted)) return;
  const source = mediaSourceOf(defined);
  if (source === null) return;
  if (running !== null) await changeDrive(host, machine, instance, { target: running.target, media: source });
  else await plugIn(host, machine, instance, { device, target: defined.target, readonly: defined.readonly }, source);
}

/** Returns whether a disk's source has the name of an image that the daemon has downloaded. */
function isStoredImage(source: string | null): boolean {
  return source !== null && isStoredImageName(basename(source));
}
