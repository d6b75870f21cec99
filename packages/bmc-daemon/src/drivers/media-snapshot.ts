/** The drives of a machine that virtual media goes into, in hypervisor words. */

/** A CD or DVD drive, a floppy drive, and a USB stick, which is there only as long as it holds something. */
export const MEDIA_DEVICES = ['cdrom', 'floppy', 'usb'] as const;

/** One of each kind is all that a machine has for virtual media. */
export type MediaDevice = (typeof MEDIA_DEVICES)[number];

/** `upload`: kept on the host while it is inserted; `stream`: read from its server by the hypervisor, block by block. */
export type TransferMethod = 'upload' | 'stream';

/** A certificate that a client has given for the servers of one drive's images. */
export interface MediaCertificate {
  /** `1`, `2`, …: a number that the drive has not used before. */
  readonly id: string;
  /** PEM, as it was sent. */
  readonly pem: string;
}

/** How the images of one drive are downloaded; kept with the machine. */
export interface MediaSettings {
  /** Null: nobody has set it, and the configuration decides. */
  readonly verifyCertificate: boolean | null;
  /** Trusted beside everything else that is trusted, for the images of this drive alone. */
  readonly certificates: readonly MediaCertificate[];
}

/** Of a drive that nobody has set anything of. */
export const untouchedMedia: MediaSettings = { verifyCertificate: null, certificates: [] };

/** One removable drive that virtual media goes into. */
export interface MediaSnapshot extends MediaSettings {
  readonly device: MediaDevice;
  /** Whether the drive holds an image, whoever put it there. */
  readonly inserted: boolean;
  /** URL that the image came from (no credentials); the file's path where the user put it there; null when empty. */
  readonly image: string | null;
  /** Last path segment of the image; null when empty. */
  readonly imageName: string | null;
  /** As the guest finds it; of an empty drive what it will be unless a client wants it otherwise. */
  readonly writeProtected: boolean;
  /** True when the image was inserted over Redfish (ConnectedVia URI), false for the user's own. */
  readonly viaUri: boolean;
  /** How it came; null when empty or the user's own. */
  readonly transferMethod: TransferMethod | null;
  /** The ways in which an image can come into it, as far as is known. */
  readonly transferMethods: readonly TransferMethod[];
}

/** Makes new settings of those that a drive has. It may be called more than once; what it throws ends the change. */
export type MediaChange = (present: MediaSettings) => MediaSettings;
