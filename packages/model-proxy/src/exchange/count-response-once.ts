/**
 * Counts the usage of responses whose POST was answered without usage: with `background: true`, only
 * later reads have it. Each response is counted once.
 */
import type { Exchange } from './exchange.js';

/**
 * Remembers a new response without usage, and decides whether a read is counted. The caller calls it once, after
 * the end of a request. If a client leaves a stream before the usage, the read counts like any other stream,
 * and a later read still counts the response.
 */
export function countResponseOnce(exchange: Exchange): void {
  const { responseId, usage, usesStoredAnswer, proxy } = exchange;
  if (responseId === null) return;
  const { uncountedResponses: ids } = proxy;
  if (usesStoredAnswer) exchange.usesStoredAnswer = !(usage === null ? ids.has(responseId) : ids.take(responseId));
  else if (usage === null) ids.add(responseId);
}
