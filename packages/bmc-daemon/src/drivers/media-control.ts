/**
 * Virtual media: images in the drives of machines. A driver without virtual media has no `media`, so
 * resources show no drives.
 */
import type { ImageRequest } from '../media/image.js';
import type { InsertOptions, OperationOptions } from './operation-options.js';
import type { MediaChange, MediaDevice } from './snapshot/media-snapshot.js';

/**
 * Virtual media. An id is the UUID or the name of a machine. If a method fails, it rejects with a {@link
 * DriverError}.
 */
export interface MediaControl {
  /**
   * Downloads the image and inserts it into the drive. With the transfer method `stream`, QEMU reads the
   * image from its server instead. Machines share the download of an image. If the guest may write to the
   * image, its machine has a private copy, which the eject removes. Resolves at once if the drive already has
   * the image of this URL with the same write protection.
   * @throws {DriverError} mediaInUse, if the drive has another image; insertFailed, if an eject cancels the
   *   insert; a media kind, storageFull, noPlace, unsupported and others; the reason of the signal.
   */
  insert(id: string, device: MediaDevice, image: ImageRequest, options?: InsertOptions): Promise<void>;
  /**
   * Empties the drive. Cancels earlier inserts into this drive: their downloads stop, and they fail
   * with `insertFailed`. Resolves for an empty drive.
   * @throws {DriverError} unsupported, if the machine has no such drive, and others; the reason of the signal, if it
   *   aborts before the eject begins.
   */
  eject(id: string, device: MediaDevice, options?: OperationOptions): Promise<void>;
  /** Stores the download settings of a drive with the machine. */
  set(id: string, device: MediaDevice, change: MediaChange): Promise<void>;
}
