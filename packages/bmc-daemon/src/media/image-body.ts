/** The body of an image as it comes: counted, bounded, and watched for silence. */
import type { IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { ImageError } from './image-error.js';
import { reading, silence, transportError } from './image-exchange.js';

/** What a body may be. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** The longest silence of the server within it. */
  readonly idleTimeoutMs: number;
}

/**
 * What the server sends, as a stream that fails with an {@link ImageError}: too large, broken off, silent.
 * @param expectedBytes null where the server does not say.
 * @param onReceived called with the number of bytes so far, as they come.
 */
export function countedBody(
  url: URL,
  response: IncomingMessage,
  expectedBytes: number | null,
  limits: BodyLimits,
  signal: AbortSignal,
  onReceived: ((bytes: number) => void) | undefined,
): Readable {
  let received = 0;
  const counter = new Transform({
    readableHighWaterMark: 1_048_576,
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      if (received > limits.maxBytes) {
        done(tooLarge(url, limits.maxBytes));
        return;
      }
      onReceived?.(received);
      done(null, chunk);
    },
    flush(done) {
      if (expectedBytes === null || received === expectedBytes) done();
      else
        done(new ImageError('mediaUnreachable', `${reading(url)}: ended after ${received} of ${expectedBytes} bytes`));
    },
  });
  const tickMs = Math.max(10, limits.idleTimeoutMs / 4);
  let silentMs = 0;
  let seen = 0;
  const watch = setInterval(() => {
    // Bytes that wait for a slow disk are not the server's silence.
    const moving = received !== seen || counter.readableLength > 0 || counter.writableNeedDrain;
    silentMs = moving ? 0 : silentMs + tickMs;
    seen = received;
    if (silentMs >= limits.idleTimeoutMs) counter.destroy(silence(url, limits.idleTimeoutMs));
  }, tickMs);
  watch.unref();
  // By hand, for `pipeline` would hand its own words of a broken connection to whoever reads the counter.
  const fail = (error: unknown): void => {
    counter.destroy(transportError(url, error, signal));
  };
  response.once('error', fail);
  response.once('close', () => {
    if (!response.complete) fail(undefined);
  });
  // It may break while nobody reads it yet; whoever does then is told by the state of the stream.
  counter.on('error', () => undefined);
  counter.once('close', () => {
    clearInterval(watch);
    response.destroy();
  });
  response.pipe(counter);
  return counter;
}

/** The image passes the limit of the configuration, or of its drive. */
export const tooLarge = (url: URL, maxBytes: number): ImageError =>
  new ImageError('mediaTooLarge', `${reading(url)}: larger than the limit of ${maxBytes} bytes`);
