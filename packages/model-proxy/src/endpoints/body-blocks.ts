/**
 * Memory for large request bodies, used again and again. Each piece that Node reads has memory of its own outside of V8's heap; kept
 * until a body is whole and sent, such pieces grow old, and V8 collects its whole heap every few megabytes to be rid of them: a
 * third of what a body of 10 MB cost. Copied here at once they die young, as those of a body that is only passed on do.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Few enough writes for a large body, and not much too large for one of 100 KB. */
const BLOCK_BYTES = 262_144;
/** Kept at most while nobody uses them. */
const MAXIMUM_FREE = 256;
/** Blocks that nobody has needed for so long are given back to the system. */
const LOOK_MS = 10_000;

/** Blocks that are free. */
const free: Buffer[] = [];
/** The least of them that there were since the last look. */
let leastFree = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * After so many bytes of pieces the young ones are collected. V8 would wait for 32 MB of them, but long before counts them as a
 * reason to collect everything; and memory that is used again at once is still in the processor's cache.
 */
const YOUNG_BYTES = 4_194_304;
let young = 0;
let collectYoung: ((options: { readonly type: 'minor' }) => void) | undefined;

function countYoung(bytes: number): void {
  young += bytes;
  if (young < YOUNG_BYTES) return;
  young = 0;
  collectYoung ??= findCollector();
  collectYoung({ type: 'minor' });
}

/** V8's own `gc`, which it shows to contexts that are made behind this flag. */
function findCollector(): NonNullable<typeof collectYoung> {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  return typeof found === 'function' ? (found as NonNullable<typeof collectYoung>) : () => undefined; // V8's, which takes this
}

function take(): Buffer {
  const block = free.pop();
  leastFree = Math.min(leastFree, free.length);
  return block ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
}

function giveBack(blocks: readonly Buffer[]): void {
  for (const block of blocks) if (free.length < MAXIMUM_FREE) free.push(block);
  timer ??= setInterval(look, LOOK_MS).unref();
}

function look(): void {
  free.splice(0, leastFree);
  leastFree = free.length;
  if (free.length > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** Bodies up to here are kept as they come, unless they begin with a piece as large as this: nobody takes a block by a few bytes. */
const UNCOPIED_BYTES = 65_536;
const LARGE_PIECE_BYTES = 32_768;

/** Whether a piece is to be kept in blocks. @param before bytes of the body in front of it. */
export function isForBlocks(piece: Buffer, before: number): boolean {
  return before >= UNCOPIED_BYTES || piece.length >= LARGE_PIECE_BYTES;
}

/** What one body has of them. */
export class BodyBlocks {
  readonly #blocks: Buffer[] = [];
  /** Of the last block. */
  #used = BLOCK_BYTES;

  /** @returns views of the same bytes, to be kept in place of the piece. */
  keep(piece: Buffer): readonly Buffer[] {
    countYoung(piece.length);
    const kept: Buffer[] = [];
    for (let from = 0; from < piece.length;) {
      if (this.#used === BLOCK_BYTES) {
        this.#blocks.push(take());
        this.#used = 0;
      }
      const block = this.#blocks[this.#blocks.length - 1] ?? piece;
      const length = Math.min(piece.length - from, BLOCK_BYTES - this.#used);
      piece.copy(block, this.#used, from, from + length);
      kept.push(block.subarray(this.#used, this.#used + length));
      this.#used += length;
      from += length;
    }
    return kept;
  }

  /** Gives the memory to other bodies. Only once nobody will read the views any more: not the socket that they are sent by, either. */
  release(): void {
    giveBack(this.#blocks.splice(0));
    this.#used = BLOCK_BYTES;
  }
}
