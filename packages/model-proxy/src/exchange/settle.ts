/** Counts the usage of requests for their virtual keys and for the reports. */
import type { Store } from '../store/store.js';
import { costOf } from './answer/response-cost.js';
import type { Usage } from './answer/usage.js';
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
  const { admittedKey, proxy, error, response, settled } = exchange;
  const { keys } = proxy;
  if (keys === null) return;
  const usage = countedUsage(exchange);
  if (admittedKey !== null) keys.limits.release(admittedKey, usage.totalTokens - settled.totalTokens);
  const failed = error !== null || response.statusCode >= 400;
  addUsage(exchange, keys.store, usage, { cost: costUsd, requests: 1, failed });
}

/**
 * Counts the tokens that the upstream of an open WebSocket has reported since the last call, and their cost. At the
 * end, {@link settle} counts the rest. Does nothing without a store.
 */
export function settleOpen(exchange: Exchange): void {
  const { selection, admittedKey, proxy, usage, settled } = exchange;
  const { keys } = proxy;
  if (keys === null || selection === null || usage === null) return;
  const tokens = usage.totalTokens - settled.totalTokens;
  if (tokens === 0) return;
  if (admittedKey !== null) keys.limits.use(admittedKey, tokens);
  const cost = costOf(selection.deployment, usage) ?? 0;
  addUsage(exchange, keys.store, usage, { cost, requests: 0, failed: false });
  const { inputTokens, outputTokens, totalTokens } = usage;
  exchange.settled = { inputTokens, outputTokens, totalTokens, cost };
}

/**
 * Adds the usage that is not stored yet to the store.
 * @param usage the tokens since the start of the request; `cost` also counts since the start.
 */
function addUsage(
  exchange: Exchange,
  store: Store,
  usage: Usage,
  { cost, requests, failed }: { readonly cost: number; readonly requests: 0 | 1; readonly failed: boolean },
): void {
  const { selection, client, settled } = exchange;
  if (selection === null) return;
  store.addUsage({
    key: client?.key?.digest ?? null,
    model: selection.modelGroup,
    tags: tagsOf(exchange),
    requests,
    failed,
    inputTokens: usage.inputTokens - settled.inputTokens,
    outputTokens: usage.outputTokens - settled.outputTokens,
    totalTokens: usage.totalTokens - settled.totalTokens,
    cost: cost - settled.cost,
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
