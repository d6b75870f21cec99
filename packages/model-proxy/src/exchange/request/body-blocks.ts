/**
 * Pools the memory of large request bodies. Node allocates memory outside of V8's heap for each
 * chunk that it reads. Chunks that live until their body is complete move to V8's old generation,
 * and V8 then collects its whole heap every few megabytes. These collections were a third of the cost of a
 * body of 10 MB. The proxy therefore copies chunks into blocks at once, so that V8 can collect the chunks
 * while they are young, which is cheap.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Size of a block: large enough that a large body needs few writes to the upstream's socket, and small enough for
 * a body of 100 KB.
 */
const BLOCK_BYTES = 262_144;
/** Maximum number of blocks in the pool. */
const MAX_FREE = 256;
/** The pool frees blocks that no body needed for this time. */
const SHRINK_INTERVAL_MS = 10_000;

/** The pool: blocks that no body uses. */
const free: Buffer[] = [];
/**
 * The smallest number of free blocks since the last call of {@link shrink}. The pool can do without
 * this number of blocks.
 */
let minFree = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * After this many bytes of copied chunks, the proxy collects V8's young generation. V8 itself
 * collects the young generation only after 32 MB, and collects the whole heap even earlier. Memory
 * that is reused early is also still in the processor's cache.
 */
const COLLECT_BYTES = 4_194_304;
/** Bytes of chunks that were copied since the last collection. */
let copiedBytes = 0;
let collectYoung: ((options: { readonly type: 'minor' }) => void) | undefined;

/** Counts the bytes of a copied chunk, and collects the young generation after enough of them. */
function countCopied(bytes: number): void {
  copiedBytes += bytes;
  if (copiedBytes < COLLECT_BYTES) return;
  copiedBytes = 0;
  collectYoung ??= findCollector();
  collectYoung({ type: 'minor' });
}

/**
 * Returns V8's `gc` function, or a function that does nothing if V8 does not have it. Only JavaScript contexts that
 * are made after the flag was set have `gc`, so this function makes one.
 */
function findCollector(): NonNullable<typeof collectYoung> {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  // The type declares the options of a call. V8's `gc` accepts these options.
  return typeof found === 'function' ? (found as NonNullable<typeof collectYoung>) : () => undefined;
}

function take(): Buffer {
  const block = free.pop();
  minFree = Math.min(minFree, free.length);
  return block ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
}

function giveBack(blocks: readonly Buffer[]): void {
  for (const block of blocks) if (free.length < MAX_FREE) free.push(block);
  timer ??= setInterval(shrink, SHRINK_INTERVAL_MS).unref();
}

function shrink(): void {
  free.splice(0, minFree);
  minFree = free.length;
  if (free.length > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/**
 * Chunks that begin within these first bytes of a body are not copied, except chunks of at least
 * {@link LARGE_CHUNK_BYTES}.
 */
const UNCOPIED_BYTES = 65_536;
const LARGE_CHUNK_BYTES = 32_768;

/**
 * Returns whether a chunk should be copied into blocks.
 * @param before number of the body's bytes before the chunk.
 */
export function isForBlocks(chunk: Buffer, before: number): boolean {
  return before >= UNCOPIED_BYTES || chunk.length >= LARGE_CHUNK_BYTES;
}

/** The blocks of one body. */
export class BodyBlocks {
  readonly #blocks: Buffer[] = [];
  /** Number of bytes used in the last block. */
  #used = BLOCK_BYTES;

  /** Copies a chunk. @returns views of the copied bytes, which replace the chunk. */
  copy(chunk: Buffer): readonly Buffer[] {
    countCopied(chunk.length);
    const views: Buffer[] = [];
    for (let from = 0; from < chunk.length;) {
      if (this.#used === BLOCK_BYTES) {
        this.#blocks.push(take());
        this.#used = 0;
      }
      const block = this.#blocks[this.#blocks.length - 1] ?? chunk;
      const length = Math.min(chunk.length - from, BLOCK_BYTES - this.#used);
      chunk.copy(block, this.#used, from, from + length);
      views.push(block.subarray(this.#used, this.#used + length));
      this.#used += length;
      from += length;
    }
    return views;
  }

  /**
   * Returns the blocks to the pool. The caller must ensure that nothing reads the views later, the
   * sending socket included.
   */
  release(): void {
    giveBack(this.#blocks.splice(0));
    this.#used = BLOCK_BYTES;
  }
}
