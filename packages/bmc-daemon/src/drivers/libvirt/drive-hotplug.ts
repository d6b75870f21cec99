/** Drives of running guests: what is in them changes, they are plugged in and unplugged. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainDeviceModifyFlags } from '@rackless/libvirt';
import { DriverError } from '../driver.js';
import type { MediaDevice } from '../media-snapshot.js';
import { readDefinition, type Definition } from './definition.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import { isStreamFault } from './image-stream.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { driveMarkup, isHotplugged } from './xml/cdrom.js';
import type { Disk } from './xml/device.js';
import type { MediaSource } from './xml/disk-source.js';
import { readDomain } from './xml/domain.js';
import { hotplugMarkup } from './xml/removable-drive.js';

/** libvirt waits 5 s for QEMU to let go of a device, and answers as if all were well where it has not: the rest is waited here. */
const UNPLUG_TIMEOUT_MS = 10_000;
const UNPLUG_POLL_MS = 50;

/** A tray that the guest has locked opens too: the medium of a BMC is pulled like a plug. */
const LIVE = DomainDeviceModifyFlags.LIVE | DomainDeviceModifyFlags.FORCE;

/** A drive that a running guest is to get. */
export interface NewDrive {
  readonly device: MediaDevice;
  /** Name of the drive in the definition. */
  readonly target: string;
  readonly readonly: boolean;
}

/**
 * Plugs a drive with an image in it into a running guest.
 * @returns name of the guest's drive; null where none can be plugged in: the image is there from the next start.
 * @throws {DriverError} unavailable; anything, for a transient machine, which has no next start.
 */
export async function plugIn(
  host: Host,
  machine: Machine,
  instance: Instance,
  { device, ...options }: NewDrive,
  media: MediaSource,
): Promise<string | null> {
  const { log, timeoutMs } = host;
  try {
    const { target, markup } = hotplugMarkup(instance.domain, device, media, options);
    await attempt(`adding a drive to machine ${machine.name}`, () =>
      machine.domain.attachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs }),
    );
    return target;
  } catch (error) {
    if (!machine.persistent || !(error instanceof DriverError) || error.kind === 'unavailable') throw error;
    // At its next start QEMU could open it no better.
    if (media.type === 'network' && isStreamFault(error)) throw error;
    log.info(`machine ${machine.name} can not be given a drive while it runs: the image is there from its next start`, {
      error,
    });
    return null;
  }
}

/** Takes the image out of a drive of the running guest; ignores a drive that the guest does not have. */
export async function takeImageOut(
  host: Host,
  machine: Machine,
  { xml, instance }: Definition,
  target: string,
): Promise<void> {
  const drive = instance?.domain.devices.disks.find((disk) => disk.target === target);
  if (instance === null || drive === undefined) return;
  // A USB stick has no tray, and neither has what was hot-plugged.
  if (drive.device === 'disk' || isHotplugged(drive, readDomain(xml))) {
    await unplug(host, machine, instance, drive);
    return;
  }
  await changeDrive(host, machine, instance, { target, media: null });
}

/** Changes what the running guest finds in a drive. */
export async function changeDrive(
  { timeoutMs }: Host,
  machine: Machine,
  instance: Instance,
  { target, media }: { readonly target: string; readonly media: MediaSource | null },
): Promise<void> {
  const doing = media === null ? 'taking the image out of' : 'putting the image into';
  await attempt(`${doing} the drive of machine ${machine.name}`, () =>
    machine.domain.updateDeviceFlags(driveMarkup(instance.xml, target, media), LIVE, { timeoutMs }),
  );
}

/**
 * Returns when the drive is gone: until then the guest has the image, and no other drive can get its name.
 * @throws {DriverError} unavailable, where the guest keeps it.
 */
async function unplug(host: Host, machine: Machine, instance: Instance, { target, element }: Disk): Promise<void> {
  const doing = `unplugging the drive of machine ${machine.name}`;
  const markup = instance.xml.slice(element.start, element.end);
  const deadline = performance.now() + UNPLUG_TIMEOUT_MS;
  await attempt(doing, () =>
    machine.domain.detachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs: UNPLUG_TIMEOUT_MS }),
  );
  const isPlugged = async (): Promise<boolean> => {
    const { instance: present } = await readDefinition(machine, host.timeoutMs);
    return present?.id === instance.id && present.domain.devices.disks.some((disk) => disk.target === target);
  };
  while (await isPlugged()) {
    if (performance.now() > deadline) throw new DriverError('unavailable', `${doing}: its guest has not let go of it`);
    await sleep(UNPLUG_POLL_MS);
  }
}
