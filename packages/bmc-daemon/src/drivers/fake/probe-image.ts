/** Asks for an image and reads no further than its headers: all that a drive without a guest needs. */
import type { ImageRequest } from '../../media/image.js';
import { ImageError } from '../../media/image-error.js';
import type { HostRules } from '../../media/image-hosts.js';
import { openImage, type ImageServerLimits } from '../../media/image-server.js';
import { DriverError, type InsertOptions } from '../driver.js';

const limits: ImageServerLimits = { connectTimeoutMs: 10_000, idleTimeoutMs: 30_000, maxBytes: 64 * 1024 ** 3 };

/**
 * Resolves when the image's server sends it, redirects followed.
 * @param hosts where images may come from. Default: from every host but those at forbidden addresses.
 * @throws {DriverError} of the kinds that begin with `media`; what the signal was aborted with.
 */
export async function probeImage(image: ImageRequest, options: InsertOptions, hosts?: HostRules): Promise<void> {
  const signal = options.signal ?? new AbortController().signal;
  try {
    const { body } = await openImage(image, { ...limits, ...(hosts === undefined ? {} : { hosts }) }, signal);
    // Dropping an answer half-way makes its stream fail, which nobody needs to hear of.
    body.once('error', () => undefined).destroy();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ImageError) || error.kind === 'aborted') throw error;
    throw new DriverError(error.kind, error.message, { cause: error, field: 'image' });
  }
}
