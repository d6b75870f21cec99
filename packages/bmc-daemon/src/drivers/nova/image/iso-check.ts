/** Checks that a stream is an ISO image. */
import { Transform } from 'node:stream';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { DriverError } from '../../driver-error.js';

/** ISO 9660: the first volume descriptor begins with its type and this text. */
const SIGNATURE = 'CD001';
const SIGNATURE_AT = 16 * 2048 + 1;
const HEAD_BYTES = SIGNATURE_AT + SIGNATURE.length;

/**
 * Passes an ISO image on, and fails for any other content. Nova also checks it, but only when it boots
 * the image, and a server that it refuses to boot ends in the state ERROR.
 */
export function isoCheck(url: URL): Transform {
  let head: Buffer | undefined = Buffer.alloc(0);
  const fault = (): DriverError => {
    const why = 'it is not an ISO 9660 image, and Nova boots no other images from a CD drive';
    return new DriverError('invalid', `reading image ${maskUrl(url)}: ${why}`, { field: 'image' });
  };
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
      if (bytes.toString('latin1', SIGNATURE_AT, HEAD_BYTES) === SIGNATURE) done(null, bytes);
      else done(fault());
    },
    flush(done) {
      done(head === undefined ? null : fault());
    },
  });
}
