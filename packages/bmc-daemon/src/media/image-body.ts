/**
 * The body of an image: counts its bytes, limits them, and rejects a server that is silent or too
 * slow.
 */
import type { IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { ImageError } from './image-error.js';
import { readingText, secondsText, silenceError, transportError } from './image-exchange.js';

/** Limits of a body. */
interface BodyLimits {
  readonly maxBytes: number;
  /**
   * Maximum silence of the server within the body. In each period of this length, the server must send
   * {@link MIN_BYTES_PER_SECOND} on average.
   */
  readonly idleTimeoutMs: number;
}

/** Minimum speed of a server: a slower one never completes an image of useful size. dnf uses the same limit. */
const MIN_BYTES_PER_SECOND = 1000;

/**
 * Returns the body as a stream. The stream fails with an {@link ImageError}: too large, interrupted, silent, too
 * slow, or the signal has aborted.
 * @param expectedBytes null if the server does not send the size.
 * @param onReceived receives the number of bytes so far.
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
        done(tooLargeError(url, limits.maxBytes));
        return;
      }
      onReceived?.(received);
      done(null, chunk);
    },
    flush(done) {
      if (expectedBytes === null || received === expectedBytes) done();
      else
        done(
          new ImageError('mediaUnreachable', `${readingText(url)}: ended after ${received} of ${expectedBytes} bytes`),
        );
    },
  });
  const tickMs = Math.max(10, limits.idleTimeoutMs / 4);
  const minBytes = (MIN_BYTES_PER_SECOND * limits.idleTimeoutMs) / 1000;
  /** Time since the start of the current period. */
  let slowMs = 0;
  /**
   * Number of bytes at the start of the current period, in which the server must send `minBytes`.
   */
  let periodStart = 0;
  const watch = setInterval(() => {
    // While bytes wait for a slow disk, the server cannot send more, so this time does not count.
    const isHeldBack = counter.readableLength > 0 || counter.writableNeedDrain;
    if (isHeldBack || received - periodStart >= minBytes) {
      slowMs = 0;
      periodStart = received;
      return;
    }
    slowMs += tickMs;
    if (slowMs < limits.idleTimeoutMs) return;
    counter.destroy(
      received === periodStart
        ? silenceError(url, limits.idleTimeoutMs)
        : tooSlowError(url, received - periodStart, limits.idleTimeoutMs),
    );
  }, tickMs);
  watch.unref();
  // Does not use `pipeline`, which would report a broken connection with an error of its own.
  const fail = (error: unknown): void => {
    counter.destroy(transportError(url, error, signal));
  };
  response.once('error', fail);
  response.once('close', () => {
    if (!response.complete) fail(undefined);
  });
  // The stream may fail before a reader exists. Without a listener, this would end the process. A later reader
  // sees the state of the stream.
  counter.on('error', () => undefined);
  counter.once('close', () => {
    clearInterval(watch);
    response.destroy();
  });
  response.pipe(counter);
  return counter;
}

const tooSlowError = (url: URL, bytes: number, ms: number): ImageError =>
  new ImageError('mediaUnreachable', `${readingText(url)}: the server sent only ${bytes} bytes in ${secondsText(ms)}`);

/** Returns the error of an image above the limit of the configuration or of its drive. */
export const tooLargeError = (url: URL, maxBytes: number): ImageError =>
  new ImageError('mediaTooLarge', `${readingText(url)}: larger than the limit of ${maxBytes} bytes`);
