/** Drives of running guests: changes their images, plugs drives in and unplugs them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainDeviceModifyFlags, isLibvirtError } from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { MediaDevice } from '../../snapshot/media-snapshot.js';
import { readDefinition, type Definition } from '../machine/definition.js';
import { attempt } from '../failure.js';
import type { Host } from '../machine/host.js';
import { isStreamFault } from './image-stream.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import { changedDriveMarkup, isHotplugged } from '../xml/devices/cdrom.js';
import { driveMarkup } from '../xml/devices/disk.js';
import type { Disk } from '../xml/devices/device.js';
import type { MediaSource } from '../xml/devices/disk-source.js';
import { readDomain, type Domain } from '../xml/domain.js';
import { hotplugMarkup } from '../xml/devices/removable-drive.js';

/**
 * Maximum time until QEMU releases a device. libvirt waits only 5 s, and then reports success even
 * if QEMU still has the device.
 */
const UNPLUG_TIMEOUT_MS = 10_000;
const UNPLUG_POLL_MS = 50;
/** Maximum number of attempts to change an image. If the guest closes the tray each time, the change fails. */
const TRAY_ATTEMPTS = 5;
/**
 * Usually libvirt notices within this time that the tray has closed. The next attempt then opens
 * the tray again.
 */
const TRAY_PAUSE_MS = 100;
/** QEMU's errors of `blockdev-insert-medium` and `blockdev-remove-medium`. */
const TRAY_CLOSED = /Tray of (the device|device '.*') is not open/;

/** FORCE opens a tray even if the guest has locked it. */
const LIVE = DomainDeviceModifyFlags.LIVE | DomainDeviceModifyFlags.FORCE;

/** A drive to plug into a running guest. */
interface NewDrive {
  readonly device: MediaDevice;
  /** Target of the drive in the definition, such as `sda`. */
  readonly target: string;
  readonly readonly: boolean;
}

/**
 * Plugs a drive with an image into a running guest.
 * @returns the target of the guest's drive; null if the guest accepts no drive now. The guest then
 *   gets the image at its next start.
 * @throws {DriverError} unavailable; the error of a stream that QEMU cannot open; every error for a
 *   transient machine, which has no next start.
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
    // At the next start, QEMU could not open the stream either.
    if (media.type === 'network' && isStreamFault(error)) throw error;
    log.info(`machine ${machine.name} accepts no drive while it runs: the guest gets the image at its next start`, {
      error,
    });
    return null;
  }
}

/**
 * Returns whether a drive of the running guest must be unplugged to remove its image. This applies
 * to USB sticks, which have no tray, and to hot-plugged drives, see {@link isHotplugged}.
 */
export function needsUnplug(drive: Disk, defined: Domain): boolean {
  return drive.device === 'disk' || isHotplugged(drive, defined);
}

/**
 * Removes the image from a drive of the running guest. Does nothing if the machine is off, or if the guest
 * does not have the drive.
 * @throws {DriverError} unavailable, also if the guest does not release the drive; the kind of libvirt's error.
 */
export async function ejectFromGuest(
  host: Host,
  machine: Machine,
  { xml, instance }: Definition,
  target: string,
): Promise<void> {
  const drive = instance?.domain.devices.disks.find((disk) => disk.target === target);
  if (instance === null || drive === undefined) return;
  if (needsUnplug(drive, readDomain(xml))) {
    await unplug(host, machine, instance, drive);
    return;
  }
  await changeDrive(host, machine, instance, { target, media: null });
}

/**
 * Changes the image in a drive of the running guest.
 * @param options media: null empties the drive.
 * @throws {DriverError} notFound, if the guest has no such drive; the kind of libvirt's error.
 */
export async function changeDrive(
  { timeoutMs }: Host,
  machine: Machine,
  instance: Instance,
  { target, media }: { readonly target: string; readonly media: MediaSource | null },
): Promise<void> {
  const doing = media === null ? 'removing the image from' : 'inserting the image into';
  await attempt(`${doing} the drive of machine ${machine.name}`, () =>
    retryWhileGuestClosesTray(() =>
      machine.domain.updateDeviceFlags(changedDriveMarkup(instance.xml, target, media), LIVE, { timeoutMs }),
    ),
  );
}

/**
 * Repeats a change of an image if the guest has closed the tray in the meantime. libvirt opens the
 * tray, removes the old image and inserts the new one. When a program opens the drive, Linux closes
 * the tray. QEMU then rejects the removal or the insertion. Makes at most five attempts.
 * @throws the error of the last attempt.
 */
export async function retryWhileGuestClosesTray<Result>(change: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await change();
    } catch (error) {
      if (!isLibvirtError(error) || !TRAY_CLOSED.test(error.message) || attempts === TRAY_ATTEMPTS) throw error;
      await sleep(TRAY_PAUSE_MS);
    }
  }
}

/**
 * Unplugs a drive, and resolves when it is gone. Until then, the guest has the image, and no other
 * drive can use this target.
 * @throws {DriverError} unavailable, if the guest does not release the drive within ten seconds; the kind of
 *   libvirt's error.
 */
async function unplug(host: Host, machine: Machine, instance: Instance, { target }: Disk): Promise<void> {
  const doing = `unplugging the drive of machine ${machine.name}`;
  const markup = driveMarkup(instance.xml, target);
  if (markup === undefined) return;
  const deadline = performance.now() + UNPLUG_TIMEOUT_MS;
  await attempt(doing, () =>
    machine.domain.detachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs: UNPLUG_TIMEOUT_MS }),
  );
  const isPlugged = async (): Promise<boolean> => {
    const { instance: current } = await readDefinition(machine, host.timeoutMs);
    return current?.id === instance.id && current.domain.devices.disks.some((disk) => disk.target === target);
  };
  while (await isPlugged()) {
    if (performance.now() > deadline) throw new DriverError('unavailable', `${doing}: its guest has not released it`);
    await sleep(UNPLUG_POLL_MS);
  }
}
