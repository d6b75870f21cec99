/**
 * Answers that come compressed although identity was asked for. They are decoded here: passed on as they are, nobody could read the
 * model's name or an error in them, and the client has not asked for the coding either.
 */
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Takes compressed chunks. Gives what comes of them to its {@link DecodedSink}. */
export interface Decoder {
  /** @returns false: enough for now, `sink.onDrain` says when to go on. */
  write(chunk: Buffer): boolean;
  end(): void;
  pause(): void;
  resume(): void;
  destroy(): void;
}

export interface DecodedSink {
  onData(chunk: Buffer): void;
  onDrain(): void;
  onEnd(): void;
  /** What came is not what its Content-Encoding says. */
  onError(error: Error): void;
}

/**
 * A decoder for a Content-Encoding.
 * @returns null: nothing to decode. `unknown`: a coding, or a list of codings, that cannot be decoded here.
 */
export function decoderOf(contentEncoding: string, sink: DecodedSink): Decoder | null | 'unknown' {
  const stream = streamOf(contentEncoding.trim().toLowerCase());
  if (stream === null || stream === 'unknown') return stream;
  stream.on('data', (chunk: Buffer) => sink.onData(chunk));
  stream.on('drain', () => sink.onDrain());
  stream.on('end', () => sink.onEnd());
  stream.on('error', (error) => sink.onError(error));
  return {
    write: (chunk) => stream.write(chunk),
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
      // Flushed at every chunk: events of a stream must not wait for the next ones.
      return createGunzip({ flush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      return createInflate({ flush: constants.Z_SYNC_FLUSH });
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return 'unknown' as const;
  }
}
