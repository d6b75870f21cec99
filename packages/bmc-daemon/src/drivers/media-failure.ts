/** Translates failures of image servers into errors of drivers. */
import type { ImageError } from '../media/image-error.js';
import { DriverError } from './driver-error.js';

/**
 * Returns the error for clients. An aborted download is `unavailable`, because the client may
 * retry.
 */
export function mediaFailure(error: ImageError): DriverError {
  if (error.kind === 'aborted') return new DriverError('unavailable', error.message, { cause: error });
  return new DriverError(error.kind, error.message, { cause: error, field: 'image' });
}
