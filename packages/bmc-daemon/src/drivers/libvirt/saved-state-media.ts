/**
 * Drives of a guest that goes on from its saved state (libvirt's managed save): it has what it had when it was saved. What was
 * inserted or ejected while it was off stands in the definition, and the guest is given it as soon as it runs.
 */
import { basename } from 'node:path/posix';
import { isOwnVolume } from '../../media/image-key.js';
import { MEDIA_DEVICES, type MediaDevice } from '../media-snapshot.js';
import { readDefinition } from './definition.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { changeDrive, takeImageOut, plugIn } from './drive-hotplug.js';
import { driveState } from './drive-state.js';
import { isHotplugged } from './xml/cdrom.js';
import type { Disk } from './xml/device.js';
import { mediaSourceOf } from './xml/disk-source.js';
import { readDomain } from './xml/domain.js';
import { mediaRecord } from './xml/media-record.js';
import { readMetadata } from './xml/metadata.js';

/**
 * Gives the guest what its drives hold by its definition. Never rejects: the guest runs either way, and its drives show what is in
 * them. The caller holds the machine's turn in `edits`.
 */
export async function catchUpMedia(host: Host, machine: Machine): Promise<void> {
  const steps = [
    () => unplugEjected(host, machine),
    ...MEDIA_DEVICES.map((device) => () => catchUpDrive(host, machine, device)),
  ];
  for (const step of steps) {
    await step().catch((error: unknown) => {
      const what = `machine ${machine.name} went on from its saved state without what was done to its drives since`;
      host.log.warn(what, { error });
    });
  }
}

/**
 * Gives the guest what one drive holds by its definition. The caller holds the machine's turn in `edits`.
 * @throws {DriverError}
 */
export async function bringDriveUpToDate(host: Host, machine: Machine, device: MediaDevice): Promise<void> {
  await unplugEjected(host, machine);
  await catchUpDrive(host, machine, device);
}

/** Takes out the images in drives that are there only with them, and no longer in the definition: a stick, a plugged-in drive. */
async function unplugEjected(host: Host, machine: Machine): Promise<void> {
  const definition = await readDefinition(machine, host.timeoutMs);
  const { xml, instance } = definition;
  const defined = readDomain(xml);
  const wanted = new Set(defined.devices.disks.map(({ source }) => source.name));
  const isEjected = (disk: Disk): boolean =>
    ((disk.device === 'disk' && disk.bus === 'usb') || isHotplugged(disk, defined)) &&
    isOurs(disk.source.name) &&
    !wanted.has(disk.source.name);
  for (const { target } of instance?.domain.devices.disks.filter(isEjected) ?? []) {
    await takeImageOut(host, machine, definition, target);
  }
}

async function catchUpDrive(host: Host, machine: Machine, device: MediaDevice): Promise<void> {
  const definition = await readDefinition(machine, host.timeoutMs);
  const { xml, instance } = definition;
  const media = mediaRecord(readMetadata(xml).media, device);
  const { defined, running } = driveState(definition, device, media);
  if (instance === null || defined === null) return;
  const wanted = defined.source.name;
  if (wanted === null) {
    if (running !== null && running.source.name !== null) await takeImageOut(host, machine, definition, running.target);
    return;
  }
  // A floppy disk may be on a USB stick there.
  if (instance.domain.devices.disks.some(({ source }) => source.name === wanted)) return;
  const source = mediaSourceOf(defined);
  if (source === null) return;
  if (running !== null) await changeDrive(host, machine, instance, { target: running.target, media: source });
  else await plugIn(host, machine, instance, { device, target: defined.target, readonly: defined.readonly }, source);
}

/** Whether a disk's source is an image that this service downloaded. */
function isOurs(source: string | null): boolean {
  return source !== null && isOwnVolume(basename(source));
}
