/**
 * Limits the chunks of request bodies (RFC 9112 §7.1). A chunk costs about 3 µs of CPU, even if it
 * has one byte: without a limit, 1 MiB in chunks of one byte costs 3 s, and other clients wait.
 */
import type { IncomingMessage } from 'node:http';
import { ChunkAllowance } from '@rackless/daemon/http/chunk-allowance.js';
import { tooManyChunks } from './errors/body.js';

const LIMITS = { freeChunks: 16_384, minAverageBytes: 16 };

/** Limits the chunks of one body. */
class ChunkLimit {
  readonly #allowance = new ChunkAllowance(LIMITS);

  /** @throws {ProxyError} 400: the body has too many small chunks. */
  add(chunk: Buffer): void {
    if (!this.#allowance.accept(chunk)) throw tooManyChunks();
  }
}

/** Returns the limit for a request; null: the body is not sent in chunks. */
export function chunkLimitOf({ headers }: IncomingMessage): ChunkLimit | null {
  return headers['transfer-encoding'] === undefined ? null : new ChunkLimit();
}
