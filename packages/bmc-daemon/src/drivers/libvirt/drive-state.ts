/** A machine's drive of one kind, in its definition and in the guest that runs. */
import type { MediaDevice } from '../media-snapshot.js';
import type { Definition } from './definition.js';
import type { Disk } from './xml/device.js';
import { readDomain } from './xml/domain.js';
import { findDrive } from './xml/removable-drive.js';
import type { MediaRecord } from './xml/media-record.js';

/** What a machine has in a drive: in the running guest where it runs, in the definition where not. */
export interface DriveState {
  readonly defined: Disk | null;
  readonly running: Disk | null;
  /** Name of what is in it; null when it is empty. */
  readonly source: string | null;
}

/** The machine's own drive, and that of the running guest by the same name. */
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
