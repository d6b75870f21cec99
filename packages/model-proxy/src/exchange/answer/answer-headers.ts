/**
 * Makes the headers of answers: ids, the headers that LiteLLM defines, and the upstream's headers.
 * @see https://docs.litellm.ai/docs/proxy/response_headers
 */
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { VirtualKey } from '../../auth/virtual-key.js';
import type { Deployment } from '../../providers/deployment.js';
import type { Selection } from '../../routing/router.js';
import type { StoredKey } from '../../store/keys.js';
import { pythonSeconds } from '../../upstream/connection-faults.js';
import { secretMask } from '../../upstream/secret-mask.js';
import type { Exchange } from '../exchange.js';
import { dropLongHeaders } from '../head-limit.js';
import { costOf } from './response-cost.js';

/**
 * Returns the headers of every kind of answer, without those that describe the body. Durations, retries and the cost
 * are among them if a request was sent upstream.
 * @param upstream headers of the upstream's answer; null: the proxy itself makes the answer.
 * @returns name, value, name, value; names in lower case.
 */
export function answerHeaders(exchange: Exchange, upstream: readonly string[] | null): string[] {
  const { request, selection, proxy } = exchange;
  const headers = [...fixedHeaders(selection, proxy.version)];
  headers.push('x-request-id', exchange.id, 'x-litellm-call-id', exchange.callId);
  if (exchange.sentAt !== 0) {
    addDurations(headers, exchange);
    addCallHeaders(headers, exchange);
  }
  if (exchange.client?.key !== undefined) addKeyHeaders(headers, exchange, exchange.client.key);
  if (upstream !== null) {
    const from = headers.length;
    addUpstreamHeaders(headers, upstream, selection?.deployment ?? null);
    exchange.droppedHeaders += dropLongHeaders(headers, from);
  }
  // Like LiteLLM, the proxy allows requests from every web page. Without the second header, browsers
  // hide most headers from the page's scripts.
  if (request.headers.origin !== undefined)
    headers.push('access-control-allow-origin', '*', 'access-control-expose-headers', '*');
  if (proxy.isDraining()) headers.push('connection', 'close');
  return headers;
}

/** Headers that are the same in all answers of a selection. */
const fixedBySelection = new WeakMap<Selection, readonly string[]>();

function fixedHeaders(selection: Selection | null, version: string): readonly string[] {
  if (selection === null) return ['x-litellm-version', version];
  const cached = fixedBySelection.get(selection);
  if (cached !== undefined) return cached;
  const { deployment, modelGroup } = selection;
  const fixed = ['x-litellm-version', version, 'x-litellm-model-id', deployment.id];
  fixed.push('x-litellm-model-api-base', shownApiBase(deployment));
  if (isHeaderText(modelGroup)) fixed.push('x-litellm-model-group', modelGroup);
  fixedBySelection.set(selection, fixed);
  return fixed;
}

/**
 * Sends the head of an answer. A 204 must not have a Content-Length (RFC 9110 §8.6), although some
 * upstreams send it.
 * @param headers name, value, name, value: Node accepts this form without a copy of each name.
 */
export function writeHead(response: ServerResponse, status: number, headers: string[]): void {
  if (status === 204) removeHeader(headers, 'content-length');
  response.writeHead(status, headers);
}

function removeHeader(headers: string[], name: string): void {
  for (let index = headers.length - 2; index >= 0; index -= 2) if (headers[index] === name) headers.splice(index, 2);
}

/** Adds the headers about retries, fallbacks, the timeout and the cost. */
function addCallHeaders(headers: string[], exchange: Exchange): void {
  const { selection, timeoutMs, usage, retries, fallbacks, maxFallbacks } = exchange;
  headers.push(
    'x-litellm-attempted-retries',
    String(retries),
    'x-litellm-attempted-fallbacks',
    String(fallbacks),
    'x-litellm-max-fallbacks',
    String(maxFallbacks),
  );
  if (timeoutMs !== null) headers.push('x-litellm-timeout', pythonSeconds(timeoutMs));
  // The usage of a stream is known only at its end, so the head of a stream has no cost.
  const cost = usage === null || selection === null ? null : costOf(selection.deployment, usage);
  if (cost !== null) headers.push('x-litellm-response-cost', String(cost));
}

/** Adds the spend, the budget and the limits of a virtual key, and the remaining requests and tokens. */
function addKeyHeaders(headers: string[], { proxy: { keys } }: Exchange, key: VirtualKey): void {
  if (keys === null) return;
  const { digest, stored } = key;
  headers.push('x-litellm-key-spend', String(keys.store.spendOf(digest).spend));
  for (const text of limitHeaders(stored)) headers.push(text);
  if (stored.rpmLimit === null && stored.tpmLimit === null) return;
  const { requests, tokens } = keys.limits.remaining(key);
  if (requests !== null) headers.push('x-ratelimit-api_key-remaining-requests', String(requests));
  if (tokens !== null) headers.push('x-ratelimit-api_key-remaining-tokens', String(tokens));
}

/** Headers that are the same in all answers to a key. */
const fixedByKey = new WeakMap<StoredKey, readonly string[]>();

function limitHeaders(stored: StoredKey): readonly string[] {
  const cached = fixedByKey.get(stored);
  if (cached !== undefined) return cached;
  const { rpmLimit, tpmLimit, maxBudget } = stored;
  const fixed = maxBudget === null ? [] : ['x-litellm-key-max-budget', String(maxBudget)];
  if (rpmLimit !== null)
    fixed.push('x-litellm-key-rpm-limit', String(rpmLimit), 'x-ratelimit-api_key-limit-requests', String(rpmLimit));
  if (tpmLimit !== null)
    fixed.push('x-litellm-key-tpm-limit', String(tpmLimit), 'x-ratelimit-api_key-limit-tokens', String(tpmLimit));
  fixedByKey.set(stored, fixed);
  return fixed;
}

function addDurations(headers: string[], exchange: Exchange): void {
  const now = performance.now();
  headers.push(
    'x-litellm-response-duration-ms',
    milliseconds(now - exchange.startedAt),
    'x-litellm-overhead-duration-ms',
    milliseconds(overheadOf(exchange, now)),
  );
}

/**
 * Returns the time that this proxy itself needed, in milliseconds. It excludes the time in which
 * the client sends and the time in which the upstream works.
 * @param now result of `performance.now()`.
 */
export function overheadOf({ receivedAt, sentAt, firstByteAt, answeredAt }: Exchange, now: number): number {
  const upstreamDone = answeredAt !== 0 ? answeredAt : firstByteAt !== 0 ? firstByteAt : now;
  return sentAt - receivedAt + (now - upstreamDone);
}

/**
 * Writes milliseconds with up to three decimals: `1.25`. Converts only integers to text, because V8
 * needs five times as long for fractions.
 */
function milliseconds(value: number): string {
  const microseconds = Math.round(value * 1000);
  const whole = Math.floor(microseconds / 1000);
  const rest = microseconds - whole * 1000;
  if (rest === 0) return String(whole);
  const digits = String(1000 + rest);
  return `${whole}.${digits.slice(1, rest % 10 !== 0 ? 4 : rest % 100 !== 0 ? 3 : 2)}`;
}

const shownApiBases = new WeakMap<Deployment, string>();

/** Returns the `api_base` of a deployment with the secrets in the URL masked. */
export function shownApiBase(deployment: Deployment): string {
  const cached = shownApiBases.get(deployment);
  if (cached !== undefined) return cached;
  const shown = maskUrl(deployment.apiBase);
  shownApiBases.set(deployment, shown);
  return shown;
}

/**
 * Matches the upstream's headers that clients do not get: headers about the connection between
 * proxy and upstream, and headers that change how a browser treats this proxy.
 */
export const upstreamsOwn =
  /^(?:connection|keep-alive|transfer-encoding|trailer|upgrade|via|te|alt-svc|set-cookie2?|www-authenticate|proxy-.*|access-control-.*|strict-transport-security|content-security-policy.*|date)$/;
/** Matches headers about the upstream's body, which the proxy may change. */
const aboutBody = /^content-(?:length|type|encoding)$/;

/**
 * Caches the name that clients see for a header name of the upstream; null: clients do not get the
 * header. The size is limited because hostile upstreams may send any name.
 */
const cachedNames = new Map<string, string | null>();
const MAX_CACHED_NAMES = 1000;

function shownName(name: string): string | null {
  const cached = cachedNames.get(name);
  if (cached !== undefined) return cached;
  const shown = upstreamsOwn.test(name) || aboutBody.test(name) ? null : `llm_provider-${name}`;
  if (cachedNames.size < MAX_CACHED_NAMES) cachedNames.set(name, shown);
  return shown;
}

function addUpstreamHeaders(headers: string[], upstream: readonly string[], deployment: Deployment | null): void {
  const mask = secretMask(deployment);
  for (let index = 0; index + 1 < upstream.length; index += 2) {
    const name = upstream[index] ?? '';
    const shown = shownName(name);
    if (shown === null) continue;
    const value = mask(upstream[index + 1] ?? '');
    if (value === '' || !isHeaderText(value)) continue;
    headers.push(shown, value);
    // Clients look for the rate limits under the original names.
    if (name.startsWith('x-ratelimit-')) headers.push(name, value);
  }
}

/**
 * Returns whether a text can be a header's value (RFC 9110 §5.5). Node's server throws for any
 * other text.
 */
export function isHeaderText(value: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(value);
}
