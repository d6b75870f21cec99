/**
 * Decompresses answers that upstreams compress although the proxy accepts only `identity`. In a compressed
 * answer, the proxy could not find the model's name or an error, and the client may not support the
 * coding.
 */
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Decompresses chunks and gives the result to its {@link DecodedSink}. */
export interface Decoder {
  /** @returns false if the caller must wait for `sink.onDrain`. */
  write(chunk: Buffer): boolean;
  end(): void;
  pause(): void;
  resume(): void;
  destroy(): void;
}

/** The receiver of decompressed bytes. */
export interface DecodedSink {
  onData(chunk: Buffer): void;
  onDrain(): void;
  onEnd(): void;
  /** The bytes do not match the Content-Encoding, or the result is too large. */
  onError(error: Error): void;
}

/** A result up to this size is never too large. */
const UNCHECKED_BYTES = 64 * 1024 * 1024;
/** Maximum size of a larger result, as a multiple of the compressed size. JSON becomes 3 to 30 times larger. */
const MAX_RATIO = 200;

/**
 * Removes Content-Encoding and Content-Length, which are wrong for a decoded body.
 * @returns the coding; null: the answer has none, and nothing was removed.
 */
export function takeContentEncoding(headers: string[]): string | null {
  let coding: string | null = null;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === 'content-encoding')
      coding = coding === null ? (headers[at + 1] ?? '') : `${coding}, ${headers[at + 1] ?? ''}`;
  }
  if (coding === null) return null;
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at] === 'content-encoding' || headers[at] === 'content-length') headers.splice(at, 2);
  }
  return coding;
}

/**
 * Makes the decoder for a Content-Encoding.
 * @returns null if the coding is empty or `identity`. `unknown`: an unsupported coding, or a list of
 *   codings.
 */
export function decoderOf(contentEncoding: string, sink: DecodedSink): Decoder | null | 'unknown' {
  const stream = streamOf(contentEncoding.trim().toLowerCase());
  if (stream === null || stream === 'unknown') return stream;
  let received = 0;
  let decoded = 0;
  stream.on('data', (chunk: Buffer) => {
    decoded += chunk.length;
    if (decoded > UNCHECKED_BYTES && decoded > received * MAX_RATIO)
      stream.destroy(new Error(`more than ${MAX_RATIO} times its compressed size`));
    else sink.onData(chunk);
  });
  stream.on('drain', () => sink.onDrain());
  stream.on('end', () => sink.onEnd());
  stream.on('error', (error) => sink.onError(error));
  return {
    write: (chunk) => {
      received += chunk.length;
      return stream.write(chunk);
    },
    end: () => void stream.end(),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    destroy: () => void stream.destroy(),
  };
}

function streamOf(coding: string) {
  switch (coding) {
    case '':
    case 'identity':
      return null;
    case 'gzip':
    case 'x-gzip':
      // Flushes at each chunk, because an event must not wait for the next one.
      return createGunzip({ flush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      return createInflate({ flush: constants.Z_SYNC_FLUSH });
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return 'unknown' as const;
  }
}
