/**
 * Finds where the plain part of a JSON string ends: the scanner's inner loop, which takes most of
 * its time.
 */
import { webAssemblyEngine } from '../webassembly/engine.js';
import { CHUNK_BYTES, loadVectorSearch, VectorRuns, type VectorSearch } from './plain-run-vectors.js';
import { WordRuns } from './plain-run-words.js';

/** The search in one chunk, with its state. */
export interface PlainRuns {
  /** Set when the search passes a backslash. The caller resets it. */
  escaped: boolean;
  /**
   * Skips plain characters and complete escapes. Python clients send all text that is not ASCII as
   * `\u0416\u0438`.
   * @param from a position inside a string and outside of escapes; from 0 to the chunk's length.
   * @returns index of the first quote, control character (below U+0020), or backslash that starts
   * an invalid escape or an escape that the chunk cuts. The chunk's length if there is none of
   * them.
   */
  endFrom(from: number): number;
}

/** For smaller chunks the copy costs more than the vectors save. */
const VECTOR_BYTES = 4_096;

/** Undefined until the first use; null if this process cannot use vectors. */
let vectors: VectorSearch | null | undefined;

/**
 * Returns the search for a chunk. It is valid until the next call, because all chunks share one
 * WebAssembly memory.
 */
export function plainRuns(bytes: Buffer): PlainRuns {
  if (bytes.length < VECTOR_BYTES || bytes.length > CHUNK_BYTES) return new WordRuns(bytes);
  vectors ??= vectors === undefined ? loadVectorSearch(webAssemblyEngine()) : vectors;
  return vectors === null ? new WordRuns(bytes) : new VectorRuns(vectors, bytes);
}
