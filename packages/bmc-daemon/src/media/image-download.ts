/** The content of an image before it is stored, and the data that identifies it. */
import type { Readable } from 'node:stream';

/** Data that identifies one content of a URL. */
export interface ImageValidator {
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Null if the server does not send it (chunked). */
  readonly sizeBytes: number | null;
}

/** An image with an unread body. The caller reads the body to its end or destroys it. */
export interface ImageDownload {
  readonly validator: ImageValidator;
  /** Fails with an {@link ImageError}: too large, interrupted, silent, too slow, aborted. */
  readonly body: Readable;
}
