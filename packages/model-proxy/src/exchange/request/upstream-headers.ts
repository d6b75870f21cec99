/**
 * Makes the headers of requests to upstreams. They contain some headers of the client: the request
 * id, the content type of a form, and for Anthropic's API `anthropic-version` and `anthropic-beta`. With
 * `forward_client_headers_to_llm_api`, they also contain `anthropic-beta` for all APIs, and most `x-…` headers.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Deployment } from '../../providers/deployment.js';
import { secretHeader } from '../../secret-names.js';

/** The part of the headers that is the same for all requests to a deployment. */
interface Fixed {
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Whether the configuration sets the content type. */
  readonly hasContentType: boolean;
}

const fixedOf = new WeakMap<Deployment, Fixed>();

/** Options of {@link upstreamHeaders}. */
interface UpstreamHeadersOptions {
  readonly deployment: Deployment;
  readonly version: string;
  /** Sent as `x-request-id`, to find the request in the upstream's log. */
  readonly id: string;
  /** For forms: the client's content type, which has the boundary. Otherwise: JSON, or a dialect's type. */
  readonly contentType: string;
  /** The client's headers with `forward_client_headers_to_llm_api`; otherwise null. */
  readonly clientHeaders: IncomingHttpHeaders | null;
  /** The client's headers if client and upstream use Anthropic's API; otherwise null. */
  readonly anthropicHeaders: IncomingHttpHeaders | null;
}

/**
 * Returns the headers of a request to an upstream: name, value, name, value; names in lower case.
 */
export function upstreamHeaders(options: UpstreamHeadersOptions): string[] {
  const { deployment, version, id, contentType, clientHeaders, anthropicHeaders } = options;
  let fixed = fixedOf.get(deployment);
  if (fixed === undefined) {
    fixed = makeFixed(deployment, version);
    fixedOf.set(deployment, fixed);
  }
  const headers = fixed.headers.slice();
  if (!fixed.hasContentType) headers.push('content-type', contentType);
  headers.push('x-request-id', id);
  if (anthropicHeaders !== null) addAnthropicHeaders(headers, anthropicHeaders, deployment);
  if (clientHeaders !== null) addClientHeaders(headers, clientHeaders);
  return headers;
}

/** Makes the headers that all requests to a deployment have. Configured headers have priority. */
function makeFixed({ provider, apiKey, extraHeaders }: Deployment, version: string): Fixed {
  const merged = {
    accept: 'application/json, text/event-stream, */*;q=0.5',
    // The proxy cannot rewrite compressed answers.
    'accept-encoding': 'identity',
    'user-agent': `rackless-model-proxy/${version}`,
    ...provider.headers(apiKey),
    ...extraHeaders,
  };
  return { headers: Object.entries(merged).flat(), hasContentType: 'content-type' in merged };
}

/**
 * Adds the client's version and beta features. A configured version has priority. Configured features
 * and those of the client are all enabled.
 */
function addAnthropicHeaders(headers: string[], client: IncomingHttpHeaders, { extraHeaders }: Deployment): void {
  const { 'anthropic-version': version, 'anthropic-beta': beta } = client;
  if (typeof version === 'string' && extraHeaders['anthropic-version'] === undefined)
    setHeader(headers, 'anthropic-version', version);
  if (beta === undefined) return;
  const configured = extraHeaders['anthropic-beta'];
  setHeader(headers, 'anthropic-beta', [configured ?? [], beta].flat().join(','));
}

function setHeader(headers: string[], name: string, value: string): void {
  const index = headers.findIndex((text, position) => position % 2 === 0 && text === name);
  if (index === -1) headers.push(name, value);
  else headers[index + 1] = value;
}

/** Matches headers with a method. They would bypass the rules for the method of the request. */
export const methodHeader = /^x-(?:http-method(?:-override)?|method-override)$/;

/**
 * Matches headers for the proxy, headers about the client's SDK, and the request id, which the proxy sets itself. Also
 * matches Google's header that can hide the usage.
 */
const notForwarded = /^x-(?:litellm-|stainless-|(?:request-id|goog-fieldmask)$)/;

function addClientHeaders(headers: string[], clientHeaders: IncomingHttpHeaders): void {
  const presentNames = names(headers);
  for (const [name, value] of Object.entries(clientHeaders)) {
    if (typeof value !== 'string' || presentNames.has(name) || secretHeader.test(name)) continue;
    if (methodHeader.test(name)) continue;
    if (name === 'anthropic-beta' || (name.startsWith('x-') && !notForwarded.test(name))) headers.push(name, value);
  }
}

function names(headers: readonly string[]): ReadonlySet<string> {
  return new Set(headers.filter((_text, index) => index % 2 === 0));
}
