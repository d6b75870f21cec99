/**
 * Requests an image from its server, and reads only the headers of the answer. If a client uploads the
 * image, reads the whole upload.
 */
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageRequest } from '../../media/image.js';
import { ImageError } from '../../media/image-error.js';
import { openImage, type ImageServerLimits } from '../../media/image-client.js';
import { mediaFailure } from '../media-failure.js';
import type { InsertOptions } from '../operation-options.js';

/** Limits for a driver that was created without settings. */
const defaultLimits: ImageServerLimits = {
  connectTimeoutMs: 10_000,
  answerTimeoutMs: 60_000,
  idleTimeoutMs: 30_000,
  downloadTimeoutMs: 60_000,
  maxBytes: 64 * 1024 ** 3,
};

/**
 * Resolves when the server begins to send the image, or when the client has uploaded it completely.
 * @throws {DriverError} with the kind of the fault, such as mediaNotFound; the signal's reason.
 */
export async function probeImage(image: ImageRequest, options: InsertOptions, limits = defaultLimits): Promise<void> {
  const signal = options.signal ?? new AbortController().signal;
  try {
    const { body } = await openImage(image, limits, signal, (bytes) => {
      if (image.upload !== undefined) options.onProgress?.(Math.floor((bytes * 100) / image.upload.sizeBytes));
    });
    if (image.upload !== undefined) {
      await pipeline(body, discard(), { signal });
      return;
    }
    // The destroyed response emits an error, which is expected.
    body.once('error', () => undefined).destroy();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ImageError) || error.kind === 'aborted') throw error;
    throw mediaFailure(error);
  }
}

const discard = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });
