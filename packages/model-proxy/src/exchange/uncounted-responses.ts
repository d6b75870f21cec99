/**
 * Counts the usage of responses whose answer to POST had none: with `background: true`, only later
 * reads have it. Each response is counted once.
 */
import type { Exchange } from './exchange.js';

/** The oldest id beyond this number is dropped: its response is not counted. */
const MAX_IDS = 10_000;

/**
 * Remembers a new response without usage, and decides whether a read is counted. Call it once, after
 * the end of a request. If a client leaves a stream before the usage, the read counts as every other stream,
 * and the response is still counted later.
 */
export function countResponseOnce(exchange: Exchange): void {
  const { responseId, usage, usesStoredAnswer, proxy } = exchange;
  if (responseId === null) return;
  const { uncountedResponseIds: ids } = proxy;
  if (usesStoredAnswer) exchange.usesStoredAnswer = !(usage === null ? ids.has(responseId) : ids.delete(responseId));
  else if (usage === null) remember(ids, responseId);
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  for (const oldest of ids) {
    if (ids.size <= MAX_IDS) return;
    ids.delete(oldest);
  }
}
