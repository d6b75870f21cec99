/** The uploads of the service. A restart of the daemon forgets them. */
import { randomBytes } from 'node:crypto';
import type { ImageUpload } from '../../media/image-upload.js';
import { RedfishError, redfishError } from '../messages/errors.js';
import { message, withDetail } from '../messages/messages.js';
import type { AnnouncedFile } from './tus-headers.js';

/** An upload that has begun. */
export interface BegunUpload {
  readonly content: ImageUpload;
  /** URI of the task; null if the driver has inserted the image at once. */
  readonly task: string | null;
  /** Resolves with null when the image is inserted, or with the failure. */
  readonly ended: Promise<RedfishError | null>;
  /** Maximum time that the last PATCH waits for `ended`, in milliseconds. */
  readonly waitMs: number;
  /** Cancels the task; does nothing if there is none. */
  readonly cancel: (by: { readonly user: string | null; readonly address: string }) => void;
}

/** A file that a client announces, and the path of its request. */
export interface NewUpload extends AnnouncedFile {
  /** The unique id of the upload. */
  readonly id: string;
  readonly path: string;
}

/** Uploads of files to a resource, with the tus protocol at `<uri>/Oem/Rackless/Uploads`. */
export interface UploadDefinition<Entity, Request> {
  /** Returns a name for the destination of the files. Each destination has one upload at a time. */
  place(entity: Entity): string;
  /** Begins an upload. The client sends the bytes later. */
  begin(entity: Entity, file: NewUpload, request: Request): Promise<BegunUpload>;
}

/** An upload that a client can continue, or whose result it can read. */
export interface Upload extends BegunUpload {
  readonly id: string;
  readonly place: string;
  /** Undefined while the upload runs, null after success, the error after a failure. */
  readonly outcome: RedfishError | null | undefined;
}

/** Maximum number of uploads at the same time. Each has a buffer of 1 MiB. */
const MAX_RUNNING = 32;
/** Maximum number of ended uploads whose result clients can read. */
const MAX_ENDED = 100;
const RETRY_AFTER_SECONDS = '60';

/** The running uploads, and the uploads that ended most recently. */
export class Uploads {
  readonly #places = new Set<string>();
  readonly #uploads = new Map<string, Upload>();

  /**
   * Begins an upload.
   * @param place each place has one upload at a time.
   * @throws {RedfishError} 409, while another upload to the place runs; 503, while too many run; what `start` throws.
   */
  async begin(place: string, start: (id: string) => Promise<BegunUpload>): Promise<Upload> {
    if (this.#places.has(place)) {
      throw new RedfishError(409, [withDetail(message('ResourceInUse'), 'Another upload to this drive is running.')]);
    }
    if (this.#places.size >= MAX_RUNNING) {
      const busy = withDetail(
        message('ServiceTemporarilyUnavailable', RETRY_AFTER_SECONDS),
        'Too many uploads are running.',
      );
      throw new RedfishError(503, [busy], { 'Retry-After': RETRY_AFTER_SECONDS });
    }
    this.#places.add(place);
    try {
      const id = randomBytes(16).toString('hex');
      const begun = await start(id);
      const upload = { ...begun, id, place, outcome: undefined };
      this.#uploads.set(id, upload);
      void begun.ended.then((outcome) => this.#end({ ...upload, outcome }));
      return upload;
    } catch (error) {
      this.#places.delete(place);
      throw error;
    }
  }

  /**
   * Returns an upload to a place.
   * @throws {RedfishError} 404 if the id is unknown, or belongs to an upload to another place.
   */
  find(id: string, place: string, path: string): Upload {
    const upload = this.#uploads.get(id);
    if (upload === undefined || upload.place !== place) throw redfishError('ResourceMissingAtURI', path);
    return upload;
  }

  #end(upload: Upload): void {
    this.#places.delete(upload.place);
    // A new entry is the last one of the map, so the map lists ended uploads in the order of their end.
    this.#uploads.delete(upload.id);
    this.#uploads.set(upload.id, upload);
    const ended = [...this.#uploads.values()].filter(({ outcome }) => outcome !== undefined);
    for (const { id } of ended.slice(0, -MAX_ENDED)) this.#uploads.delete(id);
  }
}
