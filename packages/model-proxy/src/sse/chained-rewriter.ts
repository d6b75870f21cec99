/** Sends events through two rewriters. The two must change different members. */
import { joined } from './join-pieces.js';
import type { EventRewriter } from './event-rewriter.js';

/** Returns a rewriter whose events pass `first`, then `second`. Its state is the state of `first`. */
export function chainedRewriter(first: EventRewriter, second: EventRewriter): EventRewriter {
  const pass = (pieces: readonly Buffer[]) => joined(pieces.flatMap((piece) => second.push(piece)));
  return {
    // The only caller rewrites answers with ids. Their events have different beginnings, so `push` rewrites all chunks.
    pushLikely: () => undefined,
    push: (chunk) => pass(first.push(chunk)),
    finish: () => joined([...pass(first.finish()), ...second.finish()]),
    get isDone() {
      return first.isDone;
    },
    get interruption() {
      return first.interruption;
    },
    get hiddenUsage() {
      return first.hiddenUsage;
    },
    get eventCount() {
      return first.eventCount;
    },
  };
}
