/** What of a raw request's headers goes on, and what of its answer's comes back: all of both, but for what is not the other side's. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { KEY_SUBPROTOCOL, subprotocols } from '../auth/client-keys.js';
import { isHeaderText, upstreamsOwn } from '../endpoints/answer-headers.js';
import type { Deployment } from '../providers/deployment.js';
import { secretHeader } from '../secret-names.js';

/** RFC 9110 §7.6.1, and what Node or we write ourselves. */
const hopByHop =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|content-length|host|expect)$/;

/**
 * What is between the client and this proxy, beside its keys: who the client is and where it comes from. The account
 * (`openai-organization`) belongs to the key, which is not the client's.
 */
const clientsOwn =
  /^(?:x-(?:litellm|stainless|forwarded|real)-.*|forwarded|via|true-client-ip|cf-.*|origin|referer|sec-(?:fetch|ch)-.*|x-request-id|user-agent|openai-(?:organization|project)|custom-llm-provider)$/;
/** They only sound like secrets. */
const harmless = new Set(['idempotency-key', 'sec-websocket-key']);

export interface RawRequestHeadersOptions {
  /** The client's. */
  readonly head: IncomingHttpHeaders;
  readonly deployment: Deployment;
  readonly version: string;
  /** `x-request-id`. */
  readonly id: string;
  /** Host header of the upstream. */
  readonly host: string;
}

/** The headers of a raw request but those that tell how long its body is. What is configured wins. */
export function rawRequestHeaders(options: RawRequestHeadersOptions): OutgoingHttpHeaders {
  const { head, deployment, version, id, host } = options;
  const named = connectionOptions(head.connection);
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(head)) {
    if (value === undefined || hopByHop.test(name) || named.has(name)) continue;
    if (clientsOwn.test(name) || (secretHeader.test(name) && !harmless.has(name))) continue;
    headers[name] = value;
  }
  const offered = subprotocols(head);
  if (offered.length > 0) {
    const others = offered.filter((protocol) => !protocol.startsWith(KEY_SUBPROTOCOL));
    delete headers['sec-websocket-protocol'];
    if (others.length > 0) headers['sec-websocket-protocol'] = others.join(', ');
  }
  return {
    ...headers,
    'user-agent': `rackless-model-proxy/${version}`,
    ...deployment.provider.headers(deployment.apiKey),
    ...deployment.extraHeaders,
    'x-request-id': id,
    host,
  };
}

/**
 * The upstream's headers as the client gets them: name, value, name, value; names lower case.
 * @param rawHeaders as `IncomingMessage.rawHeaders`.
 * @param ours names that this proxy has answered itself: the upstream's are told as `llm_provider-…`.
 * @param mask masks the secrets of the deployment.
 */
export function rawAnswerHeaders(
  rawHeaders: readonly string[],
  ours: ReadonlySet<string>,
  mask: (value: string) => string,
): string[] {
  const named = connectionOptions(valuesOf(rawHeaders, 'connection').join(','));
  const headers: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    if (upstreamsOwn.test(name) || named.has(name) || !isHeaderText(value)) continue;
    headers.push(ours.has(name) || name.startsWith('x-litellm-') ? `llm_provider-${name}` : name, mask(value));
  }
  return headers;
}

function valuesOf(rawHeaders: readonly string[], wanted: string): readonly string[] {
  return rawHeaders.filter((_text, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted);
}

/** Headers that are for the next hop alone, by their names. */
function connectionOptions(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}
