/** The headers of every answer: ids, LiteLLM's own, and what the upstream said. @see https://docs.litellm.ai/docs/proxy/response_headers */
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { Deployment } from '../providers/deployment.js';
import type { Selection } from '../routing/router.js';
import { pythonSeconds } from '../upstream/connection-faults.js';
import { secretMask } from '../upstream/own-secrets.js';
import type { Exchange } from './exchange.js';
import { dropLongHeaders } from './head-limit.js';
import { costOf } from './response-cost.js';

/**
 * The headers that an answer has whatever it is: name, value, name, value; names lower case. Those without a value are left out.
 * @param upstream the head of the upstream's answer, where there was one.
 */
export function answerHeaders(exchange: Exchange, upstream: readonly string[] | null): string[] {
  const { request, selection, serving } = exchange;
  const headers = [...fixedHeaders(selection, serving.version)];
  headers.push('x-request-id', exchange.id, 'x-litellm-call-id', exchange.callId);
  if (exchange.sentAt !== 0) {
    addDurations(headers, exchange);
    addCallHeaders(headers, exchange);
  }
  if (upstream !== null) {
    const from = headers.length;
    addUpstreamHeaders(headers, upstream, selection?.deployment ?? null);
    exchange.droppedHeaders += dropLongHeaders(headers, from);
  }
  // Any page may ask, as with LiteLLM; without the second header its scripts would see none of ours.
  if (request.headers.origin !== undefined)
    headers.push('access-control-allow-origin', '*', 'access-control-expose-headers', '*');
  if (serving.isDraining()) headers.push('connection', 'close');
  return headers;
}

/** What is the same for all answers of a selection that is used again and again. */
const fixedBySelection = new WeakMap<Selection, readonly string[]>();

function fixedHeaders(selection: Selection | null, version: string): readonly string[] {
  if (selection === null) return ['x-litellm-version', version];
  const known = fixedBySelection.get(selection);
  if (known !== undefined) return known;
  const { deployment, modelGroup } = selection;
  const fixed = ['x-litellm-version', version, 'x-litellm-model-id', deployment.id];
  fixed.push('x-litellm-model-api-base', shownApiBase(deployment));
  if (isHeaderText(modelGroup)) fixed.push('x-litellm-model-group', modelGroup);
  fixedBySelection.set(selection, fixed);
  return fixed;
}

/** Sends the head of an answer. Node takes a flat list as it is, without a copy for each name. */
export function writeHead(response: ServerResponse, status: number, headers: string[]): void {
  response.writeHead(status, headers);
}

/** How it came about. There are neither retries nor fallbacks yet; clients that count them read zeros. */
function addCallHeaders(headers: string[], { selection, timeoutMs, usage }: Exchange): void {
  headers.push(
    'x-litellm-attempted-retries',
    '0',
    'x-litellm-attempted-fallbacks',
    '0',
    'x-litellm-max-fallbacks',
    '0',
  );
  if (timeoutMs !== null) headers.push('x-litellm-timeout', pythonSeconds(timeoutMs));
  // Of a stream it is not known before its end.
  const cost = usage === null || selection === null ? null : costOf(selection.deployment, usage);
  if (cost !== null) headers.push('x-litellm-response-cost', String(cost));
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

/** How long this proxy kept the request, in milliseconds: neither the client's sending nor the upstream's work counts. */
export function overheadOf({ receivedAt, sentAt, firstByteAt, answeredAt }: Exchange, now: number): number {
  const upstreamDone = answeredAt !== 0 ? answeredAt : firstByteAt !== 0 ? firstByteAt : now;
  return sentAt - receivedAt + (now - upstreamDone);
}

/** To the microsecond, `1.25`. By whole numbers: V8 spells them five times as fast as fractions. */
export function milliseconds(value: number): string {
  const microseconds = Math.round(value * 1000);
  const whole = Math.floor(microseconds / 1000);
  const rest = microseconds - whole * 1000;
  if (rest === 0) return String(whole);
  const digits = String(1000 + rest);
  return `${whole}.${digits.slice(1, rest % 10 !== 0 ? 4 : rest % 100 !== 0 ? 3 : 2)}`;
}

const shownApiBases = new WeakMap<Deployment, string>();

/** Without what may be a secret in a URL. */
export function shownApiBase(deployment: Deployment): string {
  const known = shownApiBases.get(deployment);
  if (known !== undefined) return known;
  const shown = maskUrl(deployment.apiBase);
  shownApiBases.set(deployment, shown);
  return shown;
}

/** Of an upstream's headers, those about its connection with us, or that would act on this proxy's clients in its name. */
export const upstreamsOwn =
  /^(?:connection|keep-alive|transfer-encoding|trailer|upgrade|via|te|alt-svc|set-cookie2?|www-authenticate|proxy-.*|access-control-.*|strict-transport-security|content-security-policy.*|date)$/;
/** Those about the body as it was there. */
const aboutBody = /^content-(?:length|type|encoding)$/;

/** Upstream's name → ours; null: not shown. Upstreams send the same names again and again; strangers can not fill it. */
const shownNames = new Map<string, string | null>();
const MAX_SHOWN_NAMES = 1000;

function shownName(name: string): string | null {
  const known = shownNames.get(name);
  if (known !== undefined) return known;
  const shown = upstreamsOwn.test(name) || aboutBody.test(name) ? null : `llm_provider-${name}`;
  if (shownNames.size < MAX_SHOWN_NAMES) shownNames.set(name, shown);
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
    // Clients pace themselves by these names.
    if (name.startsWith('x-ratelimit-')) headers.push(name, value);
  }
}

/** RFC 9110 §5.5. Node's server throws for anything else. */
export function isHeaderText(value: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(value);
}
