/**
 * Finds where the plain part of a JSON string ends: the scanner's inner loop, which takes most of
 * its time.
 */
import { webAssemblyEngine } from '../webassembly/engine.js';
import { CHUNK_BYTES, loadVectorSearch, VectorRuns, type VectorSearch } from './plain-run-vectors.js';
import { WordRuns, type PlainRuns } from './plain-run-words.js';

/** Minimum size of a chunk for vectors: for smaller chunks, the copy costs more than the vectors save. */
const VECTOR_BYTES = 4_096;

/** The search with vectors; undefined until the first use; null if this process cannot use vectors. */
let vectors: VectorSearch | null | undefined;

/**
 * Returns the search for a chunk. The search is valid until the next call, because all chunks share
 * one WebAssembly memory.
 */
export function plainRuns(bytes: Buffer): PlainRuns {
  if (bytes.length < VECTOR_BYTES || bytes.length > CHUNK_BYTES) return new WordRuns(bytes);
  vectors ??= vectors === undefined ? loadVectorSearch(webAssemblyEngine()) : vectors;
  return vectors === null ? new WordRuns(bytes) : new VectorRuns(vectors, bytes);
}
