/** A drive of a machine in its definition and in its running guest. */
import type { MediaDevice } from '../../snapshot/media-snapshot.js';
import type { Definition } from '../machine/definition.js';
import type { Disk } from '../xml/devices/device.js';
import { readDomain } from '../xml/domain.js';
import { findDrive } from '../xml/devices/removable-drive.js';
import type { MediaRecord } from '../xml/metadata/media-record.js';

/** A drive of a machine, and its current image. */
interface DriveState {
  readonly defined: Disk | null;
  readonly running: Disk | null;
  /**
   * `DiskSource.name` of the image: in the running guest, or in the definition if no running guest
   * has the drive. Null: the drive is empty.
   */
  readonly source: string | null;
}

/**
 * Returns the drive in the definition, and the drive with the same key and type in the running guest. If the
 * definition has no such drive, `running` is the drive of the guest, for example a hot-plugged one.
 * @throws {DriverError} internal, if the XML is not a domain.
 */
export function driveState(
  { xml, instance }: Definition,
  device: MediaDevice,
  media: MediaRecord | undefined,
): DriveState {
  const defined = findDrive(readDomain(xml), device, media);
  if (instance === null) return { defined, running: null, source: defined?.source.name ?? null };
  const same = instance.domain.devices.disks.find(
    (disk) => disk.key === defined?.key && disk.device === defined.device,
  );
  const running = defined === null ? findDrive(instance.domain, device, media) : (same ?? null);
  return { defined, running, source: (running ?? defined)?.source.name ?? null };
}
