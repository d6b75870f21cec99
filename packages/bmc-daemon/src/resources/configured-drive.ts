/** The virtual media drives of a machine: those that EMULATOR_VMEDIA_DEVICES names and that the machine can have. */
import type { SystemSnapshot } from '../drivers/driver.js';
import type { MediaDevice, MediaSnapshot } from '../drivers/media-snapshot.js';
import type { ImageTrust } from './insert-media.js';

/** DMTF's media types. */
export const mediaTypes = ['CD', 'DVD', 'Floppy', 'USBStick'] as const;
export type MediaType = (typeof mediaTypes)[number];

/** A drive as the configuration has it, with sushy-tools' members; its id is its key there. */
export interface ConfiguredVirtualMedia {
  readonly Name?: string | undefined;
  readonly MediaTypes: readonly MediaType[];
}

/** By id: `Cd`. */
export type ConfiguredVirtualMediaDrives = Readonly<Record<string, ConfiguredVirtualMedia>>;

/** What VirtualMedia shows: a drive of the machine by its configured name. */
export interface MediaDriveEntity {
  readonly system: SystemSnapshot;
  readonly id: string;
  readonly name: string;
  readonly mediaTypes: readonly MediaType[];
  readonly drive: MediaSnapshot;
}

/**
 * What a configured drive is. What may hold either a floppy disk or a USB stick, such as sushy-tools' own Floppy, is a USB stick:
 * it takes images of any size, running guests get it at once, and every firmware boots from it.
 */
export function deviceOf({ MediaTypes: types }: ConfiguredVirtualMedia): MediaDevice {
  if (types.includes('CD') || types.includes('DVD')) return 'cdrom';
  return types.includes('USBStick') ? 'usb' : 'floppy';
}

/** In the order of the configuration. */
export function drivesOf(
  system: SystemSnapshot,
  configured: ConfiguredVirtualMediaDrives,
): readonly MediaDriveEntity[] {
  return Object.entries(configured).flatMap(([id, drive]) => {
    const device = deviceOf(drive);
    const present = system.media.find((candidate) => candidate.device === device);
    if (present === undefined) return [];
    return [{ system, id, name: drive.Name ?? `Virtual ${id}`, mediaTypes: drive.MediaTypes, drive: present }];
  });
}

/** How the images of a drive are downloaded. @param verifyByDefault where nobody has set it for the drive. */
export function trustOf(
  drive: Pick<MediaSnapshot, 'verifyCertificate' | 'certificates'> | undefined,
  verifyByDefault: boolean,
): ImageTrust {
  return {
    verifyCertificate: drive?.verifyCertificate ?? verifyByDefault,
    authorities: drive?.certificates.map(({ pem }) => pem) ?? [],
  };
}
