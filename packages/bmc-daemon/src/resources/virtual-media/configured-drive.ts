/**
 * The virtual media drives of a machine: drives of EMULATOR_VMEDIA_DEVICES that the machine
 * supports.
 */
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { MediaDevice, MediaSnapshot } from '../../drivers/snapshot/media-snapshot.js';
import type { ImageTrust } from './insert-media.js';

/**
 * Values of DMTF's MediaTypes.
 * @see DSP2046, VirtualMedia, MediaTypes
 */
export const mediaTypes = ['CD', 'DVD', 'Floppy', 'USBStick'] as const;
/** A media type of DMTF. */
type MediaType = (typeof mediaTypes)[number];

/** A configured drive, with the members of sushy-tools. Its key in the mapping is its id. */
export interface ConfiguredVirtualMedia {
  readonly Name?: string | undefined;
  readonly MediaTypes: readonly MediaType[];
}

/** Configured drives by id, for example `Cd`. */
export type ConfiguredVirtualMediaDrives = Readonly<Record<string, ConfiguredVirtualMedia>>;

/** A drive of a machine with its configured name, as VirtualMedia shows it. */
export interface MediaDriveEntity {
  readonly system: SystemSnapshot;
  readonly id: string;
  readonly name: string;
  readonly mediaTypes: readonly MediaType[];
  readonly drive: MediaSnapshot;
}

/**
 * Returns the device of a configured drive. A drive for both floppy disks and USB sticks, such as
 * sushy-tools' drive Floppy, is a USB stick. Such a stick accepts images of any size, supports
 * hot-plug, and every firmware boots from it.
 */
export function deviceOf({ MediaTypes: types }: ConfiguredVirtualMedia): MediaDevice {
  if (types.includes('CD') || types.includes('DVD')) return 'cdrom';
  return types.includes('USBStick') ? 'usb' : 'floppy';
}

/** Returns the drives of a machine in the order of the configuration. */
export function drivesOf(
  system: SystemSnapshot,
  configured: ConfiguredVirtualMediaDrives,
): readonly MediaDriveEntity[] {
  return Object.entries(configured).flatMap(([id, drive]) => {
    const device = deviceOf(drive);
    const present = system.media?.find((candidate) => candidate.device === device);
    if (present === undefined) return [];
    return [{ system, id, name: drive.Name ?? `Virtual ${id}`, mediaTypes: drive.MediaTypes, drive: present }];
  });
}

/**
 * Returns the trust settings for downloads of a drive.
 * @param verifyByDefault applies if no client has set VerifyCertificate.
 */
export function trustOf(
  drive: Pick<MediaSnapshot, 'verifyCertificate' | 'certificates'> | undefined,
  verifyByDefault: boolean,
): ImageTrust {
  return {
    verifyCertificate: drive?.verifyCertificate ?? verifyByDefault,
    authorities: drive?.certificates.map(({ pem }) => pem) ?? [],
  };
}
