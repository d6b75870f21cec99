/** An image that a client sends in parts. A driver reads it like a download. */
import { Readable } from 'node:stream';
import { tooLargeError } from './image-body.js';
import { ImageError } from './image-error.js';
import type { ImageDownload } from './image-download.js';

/** The scheme of the URLs of uploaded images. Clients cannot insert such a URL. */
const SCHEME = 'upload:';
/** Number of bytes that an upload buffers while the storage is slower than the client. */
const BUFFER_BYTES = 1_048_576;

/** Options of {@link ImageUpload}. */
interface ImageUploadOptions {
  /** A unique text of URL characters. */
  readonly id: string;
  /** The name of the file, for people. */
  readonly fileName: string;
  readonly sizeBytes: number;
  /** The upload fails if it receives nothing for this time, unless it waits for the storage. */
  readonly expiryMs: number;
}

/**
 * How a request that appends bytes ended. `received`: completely. `tooLong`: it has more bytes than
 * the image. `replaced`: by a later request.
 */
type AppendResult = 'received' | 'tooLong' | 'replaced';

/** The request that sends bytes now. */
interface Sender {
  end(result: AppendResult): void;
  fail(error: Error): void;
  resume(): void;
}

/** Returns whether the stored URL of an image is the URL of an upload. */
export function isUploadUrl(url: string): boolean {
  return url.startsWith(SCHEME);
}

/**
 * One upload. Its bytes go from the client to the storage of the driver, with {@link BUFFER_BYTES}
 * in memory. So an interrupted upload can continue only in the same process.
 */
export class ImageUpload {
  /** The URL that identifies the image: `upload://<id>/<file name>`. */
  readonly url: URL;
  readonly sizeBytes: number;
  readonly expiryMs: number;
  /** Resolves when the storage begins to read. */
  readonly begun: Promise<void>;
  readonly #body: Readable;
  readonly #timer: NodeJS.Timeout;
  #offset = 0;
  #isOpen = false;
  #isStalled = false;
  #failure: Error | undefined;
  #onReceived: ((bytes: number) => void) | undefined;
  #sender: Sender | undefined;

  constructor({ id, fileName, sizeBytes, expiryMs }: ImageUploadOptions) {
    this.url = new URL(`${SCHEME}//${id}/${encodeURIComponent(fileName)}`);
    this.sizeBytes = sizeBytes;
    this.expiryMs = expiryMs;
    let begin: () => void = () => undefined;
    this.begun = new Promise((resolve) => {
      begin = resolve;
    });
    this.#body = new Readable({
      highWaterMark: BUFFER_BYTES,
      read: () => {
        begin();
        this.#isStalled = false;
        this.#sender?.resume();
      },
      destroy: (error, done) => {
        clearTimeout(this.#timer);
        // Node also destroys the stream after its end. That is no failure.
        if (this.#offset < this.sizeBytes || error !== null) {
          this.#failure ??= error ?? interruptedError(this.url, 'the storage has stopped reading it');
          this.#sender?.fail(this.#failure);
        }
        done(error);
      },
    });
    // The upload may fail before a reader exists. A later reader gets the failure from `open`.
    this.#body.on('error', () => undefined);
    this.#timer = setTimeout(() => this.#expire(), expiryMs).unref();
  }

  /** Number of bytes received. */
  get offset(): number {
    return this.#offset;
  }

  /**
   * Returns the content, once.
   * @throws {ImageError} mediaTooLarge; mediaUnreachable, if the content was opened before.
   * @throws the failure of the upload; the reason of the signal if it has aborted.
   */
  open(maxBytes: number, signal: AbortSignal, onReceived?: (bytes: number) => void): ImageDownload {
    signal.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isOpen) throw interruptedError(this.url, 'its bytes can be read only once');
    if (this.sizeBytes > maxBytes) throw tooLargeError(this.url, maxBytes);
    this.#isOpen = true;
    this.#onReceived = onReceived;
    // The URL of an upload is unique, so nothing else has to identify the content.
    return { validator: { etag: null, lastModified: null, sizeBytes: this.sizeBytes }, body: this.#body };
  }

  /**
   * Appends the bytes of a request until the request ends, or has more bytes than the image. Ends an
   * earlier request that is still open, so that a client that lost its connection can continue at
   * once. Bytes before an interruption count.
   * @throws the failure of the upload; an error if the client disconnects.
   */
  async append(request: Readable): Promise<AppendResult> {
    this.#sender?.end('replaced');
    if (this.#failure !== undefined) throw this.#failure;
    let sender: Sender | undefined;
    const receive = (chunk: Buffer): void => {
      if (this.#offset + chunk.length > this.sizeBytes) sender?.end('tooLong');
      else if (!this.#push(chunk)) request.pause();
    };
    try {
      return await new Promise<AppendResult>((resolve, reject) => {
        sender = {
          end: resolve,
          fail: reject,
          resume: () => request.resume(),
        };
        this.#sender = sender;
        request.on('data', receive);
        request.once('end', () => resolve('received'));
        request.once('error', reject);
        request.once('close', () => reject(interruptedError(this.url, 'the client disconnected')));
      });
    } finally {
      request.off('data', receive);
      // The client reads the answer only after it has sent everything, so the rest is read and dropped.
      request.resume();
      if (this.#sender === sender) this.#sender = undefined;
    }
  }

  /** Fails the upload: its reader gets the error. Does nothing after the end. */
  fail(error: Error): void {
    this.#body.destroy(error);
  }

  /** Adds bytes to the body. @returns whether the client may send more now. */
  #push(chunk: Buffer): boolean {
    this.#offset += chunk.length;
    this.#timer.refresh();
    this.#onReceived?.(this.#offset);
    this.#isStalled = !this.#body.push(chunk);
    if (this.#offset < this.sizeBytes) return !this.#isStalled;
    clearTimeout(this.#timer);
    this.#body.push(null);
    return true;
  }

  #expire(): void {
    if (this.#isStalled) {
      this.#timer.refresh();
      return;
    }
    this.fail(interruptedError(this.url, `the client sent nothing for ${this.expiryMs / 1000} s`));
  }
}

function interruptedError({ pathname }: URL, why: string): ImageError {
  const name = decodeURIComponent(pathname.slice(1));
  return new ImageError('mediaUnreachable', `receiving the image ${name}: ${why}`);
}
