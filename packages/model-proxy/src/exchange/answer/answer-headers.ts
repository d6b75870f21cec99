/**
 * Makes the headers of answers: ids, the headers that LiteLLM defines, and the upstream's headers.
 * @see https://docs.litellm.ai/docs/proxy/response_headers
 */
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { HeaderBlock } from '@rackless/daemon/http/shortcut/rendered-headers.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { numberText } from '@rackless/daemon/text/number-text.js';
import type { VirtualKey } from '../../auth/virtual-key.js';
import type { Deployment } from '../../providers/deployment.js';
import type { Selection } from '../../routing/router.js';
import type { StoredKey } from '../../store/keys.js';
import { pythonSeconds } from '../../upstream/connection-faults.js';
import { secretMask } from '../../upstream/secret-mask.js';
import type { Exchange } from '../exchange.js';
import { dropLongHeaders } from '../head-limit.js';
import { HeaderList, type HeaderSink } from './header-sink.js';
import { costOf } from './response-cost.js';

/**
 * Returns the headers of every kind of answer, as {@link addAnswerHeaders}.
 * @returns name, value, name, value; names in lower case.
 */
export function answerHeaders(exchange: Exchange, upstream: readonly string[] | null): string[] {
  const headers = new HeaderList();
  addAnswerHeaders(headers, exchange, upstream);
  return headers.list;
}

/**
 * Adds the headers of every kind of answer, without those that describe the body. Durations, retries and the cost
 * are among them if a request was sent upstream.
 * @param upstream headers of the upstream's answer; null: the proxy itself makes the answer.
 */
export function addAnswerHeaders(sink: HeaderSink, exchange: Exchange, upstream: readonly string[] | null): void {
  const { request, selection, proxy } = exchange;
  if (selection === null) sink.add('x-litellm-version', proxy.version);
  else sink.addBlock(fixedHeaders(selection, proxy.version));
  sink.add('x-request-id', exchange.id);
  sink.add('x-litellm-call-id', exchange.callId);
  if (exchange.sentAt !== 0) {
    addDurations(sink, exchange);
    addCallHeaders(sink, exchange);
  }
  if (exchange.client?.key !== undefined) addKeyHeaders(sink, exchange, exchange.client.key);
  if (upstream !== null) addUpstreamHeaders(sink, upstream, exchange);
  // Like LiteLLM, the proxy allows requests from every web page. Without `access-control-expose-headers`, browsers
  // hide most headers from the page's scripts.
  if (request.headers.origin !== undefined) sink.addBlock(anyOrigin);
  if (proxy.isDraining()) sink.add('connection', 'close');
}

const anyOrigin = new HeaderBlock(['access-control-allow-origin', '*', 'access-control-expose-headers', '*']);

/** Headers that are the same in all answers of a selection. */
const fixedBySelection = new WeakMap<Selection, HeaderBlock>();

function fixedHeaders(selection: Selection, version: string): HeaderBlock {
  const cached = fixedBySelection.get(selection);
  if (cached !== undefined) return cached;
  const { deployment, modelGroup } = selection;
  const fixed = ['x-litellm-version', version, 'x-litellm-model-id', deployment.id];
  fixed.push('x-litellm-model-api-base', shownApiBase(deployment));
  if (isHeaderText(modelGroup)) fixed.push('x-litellm-model-group', modelGroup);
  const block = new HeaderBlock(fixed);
  fixedBySelection.set(selection, block);
  return block;
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
function addCallHeaders(sink: HeaderSink, exchange: Exchange): void {
  const { selection, timeoutMs, usage, retries, fallbacks, maxFallbacks } = exchange;
  if (retries === 0 && fallbacks === 0 && maxFallbacks === 0) sink.addBlock(firstAttempt);
  else {
    sink.add('x-litellm-attempted-retries', String(retries));
    sink.add('x-litellm-attempted-fallbacks', String(fallbacks));
    sink.add('x-litellm-max-fallbacks', String(maxFallbacks));
  }
  if (timeoutMs !== null) sink.add('x-litellm-timeout', pythonSeconds(timeoutMs));
  // The usage of a stream is known only at its end, so the head of a stream has no cost.
  const cost = usage === null || selection === null ? null : costOf(selection.deployment, usage);
  if (cost !== null) sink.add('x-litellm-response-cost', String(cost));
}

/** The headers of a request that the first attempt has served, like most requests. */
const firstAttempt = new HeaderBlock([
  ...['x-litellm-attempted-retries', '0'],
  ...['x-litellm-attempted-fallbacks', '0'],
  ...['x-litellm-max-fallbacks', '0'],
]);

/** Adds the spend, the budget and the limits of a virtual key, and the remaining requests and tokens. */
function addKeyHeaders(sink: HeaderSink, { proxy: { keys } }: Exchange, key: VirtualKey): void {
  if (keys === null) return;
  const { digest, stored } = key;
  sink.add('x-litellm-key-spend', String(keys.store.spendOf(digest).spend));
  sink.addBlock(limitHeaders(stored));
  if (stored.rpmLimit === null && stored.tpmLimit === null) return;
  const { requests, tokens } = keys.limits.remaining(key);
  if (requests !== null) sink.add('x-ratelimit-api_key-remaining-requests', String(requests));
  if (tokens !== null) sink.add('x-ratelimit-api_key-remaining-tokens', String(tokens));
}

/** Headers that are the same in all answers to a key. */
const fixedByKey = new WeakMap<StoredKey, HeaderBlock>();

function limitHeaders(stored: StoredKey): HeaderBlock {
  const cached = fixedByKey.get(stored);
  if (cached !== undefined) return cached;
  const { rpmLimit, tpmLimit, maxBudget } = stored;
  const fixed = maxBudget === null ? [] : ['x-litellm-key-max-budget', String(maxBudget)];
  if (rpmLimit !== null)
    fixed.push('x-litellm-key-rpm-limit', String(rpmLimit), 'x-ratelimit-api_key-limit-requests', String(rpmLimit));
  if (tpmLimit !== null)
    fixed.push('x-litellm-key-tpm-limit', String(tpmLimit), 'x-ratelimit-api_key-limit-tokens', String(tpmLimit));
  const block = new HeaderBlock(fixed);
  fixedByKey.set(stored, block);
  return block;
}

function addDurations(sink: HeaderSink, exchange: Exchange): void {
  const now = performance.now();
  sink.add('x-litellm-response-duration-ms', milliseconds(now - exchange.startedAt));
  sink.add('x-litellm-overhead-duration-ms', milliseconds(overheadOf(exchange, now)));
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

/** Writes milliseconds with up to three decimals: `1.25`. */
const milliseconds = (value: number): string => numberText(Math.round(value * 1000) / 1000);

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
export const hiddenHeaders =
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
  const shown = hiddenHeaders.test(name) || aboutBody.test(name) ? null : `llm_provider-${name}`;
  if (cachedNames.size < MAX_CACHED_NAMES) cachedNames.set(name, shown);
  return shown;
}

/** Adds the upstream's headers that clients may get. Drops and counts headers above the size limit. */
function addUpstreamHeaders(sink: HeaderSink, upstream: readonly string[], exchange: Exchange): void {
  const mask = secretMask(exchange.selection?.deployment ?? null);
  const headers: string[] = [];
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
  exchange.droppedHeaders += dropLongHeaders(headers, 0, sink.byteLength);
  for (let index = 0; index + 1 < headers.length; index += 2) sink.add(headers[index] ?? '', headers[index + 1] ?? '');
}

/**
 * Returns whether a text can be a header's value (RFC 9110 §5.5). Node's server throws for any
 * other text.
 */
export function isHeaderText(value: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(value);
}
