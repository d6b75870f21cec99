/** Virtual media drives of a machine, in hypervisor terms. */

/**
 * Devices for virtual media: a CD or DVD drive, a floppy drive, and a USB stick, which exists only
 * with its image.
 */
export const MEDIA_DEVICES = ['cdrom', 'floppy', 'usb'] as const;

/** A device for virtual media. The daemon uses at most one of each in a machine. */
export type MediaDevice = (typeof MEDIA_DEVICES)[number];

/**
 * `upload`: the host stores a copy of the image until the eject; `stream`: the hypervisor reads the
 * image from its server in blocks.
 */
type TransferMethod = 'upload' | 'stream';

/** A certificate that a client has added, to verify the image servers of one drive. */
interface MediaCertificate {
  /** `1`, `2`, …: at its creation, one more than the highest number of the drive's certificates. */
  readonly id: string;
  /** The certificate and its chain as PEM, without the text between them that the client sent. */
  readonly pem: string;
}

/** Download settings of one drive, stored with the machine. */
export interface MediaSettings {
  /** Null: no client has set it, so the configuration applies. */
  readonly verifyCertificate: boolean | null;
  /** Trusted for the images of this drive only, in addition to the daemon's CAs. */
  readonly certificates: readonly MediaCertificate[];
}

/** The settings of a drive that no client has changed. */
export const untouchedMedia: MediaSettings = { verifyCertificate: null, certificates: [] };

/** One drive for virtual media. */
export interface MediaSnapshot extends MediaSettings {
  readonly device: MediaDevice;
  /** True if the drive has an image, no matter which client has inserted it. */
  readonly inserted: boolean;
  /**
   * URL of the image without credentials; the path of an image that the operator wrote into the
   * definition; null if the drive is empty or the image is unknown.
   */
  readonly image: string | null;
  /** Last path segment of the image; null if empty or unknown. */
  readonly imageName: string | null;
  /** Write protection for the guest. For an empty drive, the default for the next image. */
  readonly writeProtected: boolean;
  /**
   * True if the image was inserted over Redfish (ConnectedVia URI), false for an image of the
   * operator.
   */
  readonly viaUri: boolean;
  /** Method of the insert; null if empty, or for an image of the operator. */
  readonly transferMethod: TransferMethod | null;
  /** Methods that the drive supports. With libvirt, also `stream` while it is unknown whether QEMU supports it. */
  readonly transferMethods: readonly TransferMethod[];
}

/**
 * Returns new settings from the current ones. It may run more than once. An error cancels the
 * change.
 */
export type MediaChange = (current: MediaSettings) => MediaSettings;
