/** Checks that a stream is an ISO image. */
import { Transform } from 'node:stream';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { DriverError } from '../../driver-error.js';

/** ISO 9660: the first volume descriptor begins with its type and this text. */
const SIGNATURE = 'CD001';
const SIGNATURE_AT = 16 * 2048 + 1;
/** Number of bytes at the beginning of an image that are needed to recognize an ISO image. */
export const HEAD_BYTES = SIGNATURE_AT + SIGNATURE.length;

/**
 * Returns whether an image is an ISO image.
 * @param head its first {@link HEAD_BYTES} bytes, decoded as latin1.
 */
export function isIsoHead(head: string): boolean {
  return head.startsWith(SIGNATURE, SIGNATURE_AT);
}

/** Returns the error for an image that is not an ISO image. */
export function notIsoError(url: URL): DriverError {
  const why = 'it is not an ISO 9660 image, and Nova boots no other images from a CD drive';
  return new DriverError('invalid', `reading image ${maskUrl(url)}: ${why}`, { field: 'image' });
}

/**
 * Forwards an ISO image, and fails for any other content. Nova makes this check only when it boots
 * the image. If the check then fails, the server gets the state ERROR.
 */
export function isoCheck(url: URL): Transform {
  let head: Buffer | undefined = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (head === undefined) {
        done(null, chunk);
        return;
      }
      head = Buffer.concat([head, chunk]);
      if (head.length < HEAD_BYTES) {
        done();
        return;
      }
      const bytes = head;
      head = undefined;
      if (isIsoHead(bytes.toString('latin1', 0, HEAD_BYTES))) done(null, bytes);
      else done(notIsoError(url));
    },
    flush(done) {
      done(head === undefined ? null : notIsoError(url));
    },
  });
}
