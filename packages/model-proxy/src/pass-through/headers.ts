/**
 * Filters the headers of raw requests and of their answers. Requests lose headers about a single
 * connection, headers with keys, and those that are only for this proxy. Answers lose headers about a
 * single connection, and those that change how a browser treats this proxy.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { KEY_SUBPROTOCOL, subprotocols } from '../auth/client-keys.js';
import { isHeaderText, hiddenHeaders } from '../exchange/answer/answer-headers.js';
import { methodHeader } from '../exchange/request/upstream-headers.js';
import type { Deployment } from '../providers/deployment.js';
import { secretHeader } from '../secret-names.js';

/** Matches hop-by-hop headers (RFC 9110 §7.6.1), and headers that Node or the proxy sets. */
const hopByHop =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|content-length|host|expect)$/;

/**
 * Matches headers that upstreams do not get: headers for this proxy, headers about the client and its address, and the
 * account (`openai-organization`), which belongs to the client's key and not to the upstream's.
 */
const forProxyOnly =
  /^(?:x-(?:litellm|stainless|forwarded|real)-.*|forwarded|via|true-client-ip|cf-.*|origin|referer|sec-(?:fetch|ch)-.*|x-request-id|user-agent|openai-(?:organization|project)|custom-llm-provider)$/;
/** Headers whose names look like secrets but are not. */
const harmless = new Set(['idempotency-key', 'sec-websocket-key']);

/** Options of {@link rawRequestHeaders}. */
interface RawRequestHeadersOptions {
  /** The client's headers. */
  readonly head: IncomingHttpHeaders;
  readonly deployment: Deployment;
  readonly version: string;
  /** Sent as `x-request-id`. */
  readonly id: string;
  /** Host header of the upstream. */
  readonly host: string;
}

/**
 * Returns the headers of a raw request, without the headers about the body's length. Configured
 * headers replace all others except `x-request-id` and `host`.
 */
export function rawRequestHeaders(options: RawRequestHeadersOptions): OutgoingHttpHeaders {
  const { head, deployment, version, id, host } = options;
  const { provider, apiKey } = deployment;
  const connectionHeaders = connectionOptions(head.connection);
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(head)) {
    if (value === undefined || hopByHop.test(name) || connectionHeaders.has(name)) continue;
    if (forProxyOnly.test(name) || methodHeader.test(name)) continue;
    if (secretHeader.test(name) && !harmless.has(name)) continue;
    headers[name] = value;
  }
  const offered = subprotocols(head);
  if (offered.length > 0) {
    const otherProtocols = offered.filter((protocol) => !protocol.startsWith(KEY_SUBPROTOCOL));
    delete headers['sec-websocket-protocol'];
    if (otherProtocols.length > 0) headers['sec-websocket-protocol'] = otherProtocols.join(', ');
  }
  return {
    ...headers,
    'user-agent': `rackless-model-proxy/${version}`,
    ...(provider.nativeHeaders?.(apiKey) ?? provider.headers(apiKey)),
    ...deployment.extraHeaders,
    'x-request-id': id,
    host,
  };
}

/** Returns headers as a list: name, value, name, value. */
export function flatHeaders(headers: OutgoingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [name, [value].flat().join(', ')],
  );
}

/**
 * Returns the upstream's headers for the client: name, value, name, value; names in lower case.
 * @param rawHeaders as `IncomingMessage.rawHeaders`.
 * @param ours names of headers that the proxy sets itself. Headers of the upstream with these names, and
 *   `x-litellm-…`, become `llm_provider-…`.
 * @param mask masks the secrets of the deployment.
 */
export function rawAnswerHeaders(
  rawHeaders: readonly string[],
  ours: ReadonlySet<string>,
  mask: (value: string) => string,
): string[] {
  const connectionHeaders = connectionOptions(valuesOf(rawHeaders, 'connection').join(','));
  const headers: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    if (hiddenHeaders.test(name) || connectionHeaders.has(name) || !isHeaderText(value)) continue;
    headers.push(ours.has(name) || name.startsWith('x-litellm-') ? `llm_provider-${name}` : name, mask(value));
  }
  return headers;
}

function valuesOf(rawHeaders: readonly string[], wanted: string): readonly string[] {
  return rawHeaders.filter((_text, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted);
}

/** Returns the names of the headers that a Connection header lists as hop-by-hop. */
function connectionOptions(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}
