/**
 * Drives of a guest that continues from its saved state (libvirt's managed save). The guest still
 * has the images from the time of the save. Later inserts and ejects are only in the definition, so
 * this module applies them to the guest.
 */
import { basename } from 'node:path/posix';
import { isImageVolume } from '../../../media/image-key.js';
import { MEDIA_DEVICES, type MediaDevice } from '../../snapshot/media-snapshot.js';
import { readDefinition } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { changeDrive, removeImage, plugIn } from './drive-hotplug.js';
import { driveState } from './drive-state.js';
import { isHotplugged } from '../xml/devices/cdrom.js';
import type { Disk } from '../xml/devices/device.js';
import { mediaSourceOf } from '../xml/devices/disk-source.js';
import { readDomain } from '../xml/domain.js';
import { mediaRecord } from '../xml/metadata/media-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/**
 * Applies the drives of the definition to the guest. Never rejects, because the guest runs in any
 * case, and clients see the images that are really in its drives. The caller has begun an edit in
 * the queue.
 */
export async function updateMedia(host: Host, machine: Machine): Promise<void> {
  const steps = [
    () => unplugEjected(host, machine),
    ...MEDIA_DEVICES.map((device) => () => updateDrive(host, machine, device)),
  ];
  for (const step of steps) {
    await step().catch((error: unknown) => {
      const message = `machine ${machine.name} continued from its saved state, and a later change of its drives failed`;
      host.log.warn(message, { error });
    });
  }
}

/**
 * Applies one drive of the definition to the guest. The caller has begun an edit in the queue.
 * @throws {DriverError}
 */
export async function updateGuestDrive(host: Host, machine: Machine, device: MediaDevice): Promise<void> {
  await unplugEjected(host, machine);
  await updateDrive(host, machine, device);
}

/** Unplugs USB sticks and hot-plugged drives whose image is no longer in the definition. */
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
    await removeImage(host, machine, definition, target);
  }
}

async function updateDrive(host: Host, machine: Machine, device: MediaDevice): Promise<void> {
  const definition = await readDefinition(machine, host.timeoutMs);
  const { xml, instance } = definition;
  const media = mediaRecord(readMetadata(xml).media, device);
  const { defined, running } = driveState(definition, device, media);
  if (instance === null || defined === null) return;
  const wanted = defined.source.name;
  if (wanted === null) {
    if (running !== null && running.source.name !== null) await removeImage(host, machine, definition, running.target);
    return;
  }
  // The guest may have the floppy image as a USB stick.
  if (instance.domain.devices.disks.some(({ source }) => source.name === wanted)) return;
  const source = mediaSourceOf(defined);
  if (source === null) return;
  if (running !== null) await changeDrive(host, machine, instance, { target: running.target, media: source });
  else await plugIn(host, machine, instance, { device, target: defined.target, readonly: defined.readonly }, source);
}

/** Returns whether a disk's source is an image that the daemon has downloaded. */
function isStoredImage(source: string | null): boolean {
  return source !== null && isImageVolume(basename(source));
}
