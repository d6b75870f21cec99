/** How far a JSON string goes on without a byte that matters: the scanner's inner loop, and where most of its time goes. */
import { webAssemblyEngine } from '../webassembly/engine.js';
import { CHUNK_BYTES, loadVectorSearch, VectorRuns, type VectorSearch } from './plain-run-vectors.js';
import { WordRuns } from './plain-run-words.js';

/** One chunk, and what the search remembers of it. */
export interface PlainRuns {
  /** Set when a backslash has been met; never reset here. */
  escaped: boolean;
  /**
   * Passes by plain characters and whole escapes: a Python client sends any text that is not English as `\u0416\u0438`.
   * @param from a place inside of a string, behind any escape; from 0 to the chunk's length.
   * @returns the index of the first quote, control character (below U+0020) or backslash of what is no escape, or none that ends in this
   * chunk. Without any of them the chunk's length.
   */
  endFrom(from: number): number;
}

/** Smaller chunks are not worth a copy, nor a process that sees no other the memory for one. */
const VECTOR_BYTES = 4_096;

/** undefined: nobody has needed it yet. null: it can not be had in this process. */
let vectors: VectorSearch | null | undefined;

/** How a chunk is searched; good until the next chunk is given. */
export function plainRuns(bytes: Buffer): PlainRuns {
  if (bytes.length < VECTOR_BYTES || bytes.length > CHUNK_BYTES) return new WordRuns(bytes);
  vectors ??= vectors === undefined ? loadVectorSearch(webAssemblyEngine()) : vectors;
  return vectors === null ? new WordRuns(bytes) : new VectorRuns(vectors, bytes);
}
