/**
 * The usage of a request that counts for limits, budgets and reports, and the cost that also counts for metrics. The
 * tokens in metrics are only those that upstreams reported.
 */
import { costOf } from './answer/response-cost.js';
import type { Usage } from './answer/usage.js';
import type { Exchange } from './exchange.js';

/** A token of English text has about four bytes. */
const BYTES_OF_TOKEN = 4;
/**
 * Maximum number of bytes of a request or an answer that an estimate counts. Larger bodies usually contain pictures, which
 * cost fewer tokens than text of the same size.
 */
const MAX_ESTIMATED_BYTES = 400_000;
const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/**
 * Returns the usage that counts. For an incomplete raw answer and for a WebSocket, this is their `estimateUsage`. For
 * other requests, it is the usage that the upstream reported. Without a report, estimates the usage of a stream that has
 * sent an event: a client may disconnect at any time, and the upstream has worked until then. Each event counts as a
 * token, because model servers send a token in each event. Other requests have 0 tokens. A request to several models has
 * the sum of their tokens. A request that only reads or changes a stored answer has 0 tokens if the tokens are counted
 * already.
 */
export function countedUsage(exchange: Exchange): Usage {
  const { parts, usage, usesStoredAnswer, streamed, eventCount, estimateUsage } = exchange;
  if (parts.length > 0) return parts.map(countedUsage).reduce(sumOf);
  if (usesStoredAnswer) return NO_USAGE;
  if (estimateUsage !== null) return estimateUsage();
  if (usage !== null) return usage;
  return streamed && eventCount > 0 ? estimate(exchange.requestBytes, eventCount) : NO_USAGE;
}

/** Estimates the usage of an answer. @param outputTokens the estimated tokens of the answer so far. */
export function estimate(requestBytes: number, outputTokens: number): Usage {
  const inputTokens = tokensOf(requestBytes);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** Estimates the number of tokens of a text: 100,000 at most. */
export const tokensOf = (bytes: number) => Math.ceil(Math.min(bytes, MAX_ESTIMATED_BYTES) / BYTES_OF_TOKEN);

function sumOf(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
  };
}

/**
 * Returns the cost of {@link countedUsage}; 0 without prices, without a deployment, or for a request to several
 * models.
 */
export function countedCost(exchange: Exchange): number {
  const { selection } = exchange;
  return selection === null ? 0 : (costOf(selection.deployment, countedUsage(exchange)) ?? 0);
}
