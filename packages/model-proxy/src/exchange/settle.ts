/** Counts a finished request for its virtual key and for the reports of usage. */
import { countedUsage } from './counted-usage.js';
import type { Exchange } from './exchange.js';

/** Maximum number of tags that count for a request. Further tags are ignored. */
const MAX_TAGS = 10;
const MAX_TAG_LENGTH = 100;

/**
 * Frees the place of a request at its virtual key, and counts the tokens of the request for the limits of that key.
 * Counts the usage in the store if a deployment was selected, also without a virtual key. Does nothing without a
 * store. The caller calls this function once, at the end of the request.
 * @param costUsd result of `countedCost`.
 */
export function settle(exchange: Exchange, costUsd: number): void {
  const { selection, admittedKey, proxy, error, response, client } = exchange;
  const { keys } = proxy;
  if (keys === null) return;
  const usage = countedUsage(exchange);
  if (admittedKey !== null) keys.limits.release(admittedKey, usage.totalTokens);
  if (selection === null) return;
  keys.store.addUsage({
    key: client?.key?.digest ?? null,
    model: selection.modelGroup,
    tags: tagsOf(exchange),
    failed: error !== null || response.statusCode >= 400,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.totalTokens,
    cost: costUsd,
  });
}

/**
 * Returns the first ten tags of the key, of the header `x-litellm-tags` and of the body, without duplicates. Ignores
 * the header if clients may not set tags.
 */
export function tagsOf({ request, proxy, tags, client }: Exchange): readonly string[] {
  const header = proxy.settings.rejectClientTags === true ? undefined : request.headers['x-litellm-tags'];
  const ofKey = client?.key?.stored.tags ?? [];
  if (header === undefined && tags.length === 0) return ofKey.slice(0, MAX_TAGS);
  const inHeader = typeof header === 'string' ? header.split(',').map((tag) => tag.trim()) : [];
  const all = [...ofKey, ...inHeader, ...tags].filter((tag) => tag !== '').map(safe);
  return [...new Set(all)].slice(0, MAX_TAGS);
}

/** Shortens a tag, and replaces control characters and other characters that could break the lines of a report. */
function safe(tag: string): string {
  return tag.slice(0, MAX_TAG_LENGTH).replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '?');
}
