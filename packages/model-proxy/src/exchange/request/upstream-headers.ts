/**
 * Makes the headers of requests to upstreams. They contain headers of the client only if the
 * configuration asks for that.
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
  /** For forms: the client's content type, which has the boundary. For other bodies: JSON. */
  readonly contentType: string;
  /** The client's headers with `forward_client_headers_to_llm_api`; otherwise null. */
  readonly clientHeaders: IncomingHttpHeaders | null;
}

/**
 * Returns the headers of a request to an upstream: name, value, name, value; names in lower case.
 */
export function upstreamHeaders(options: UpstreamHeadersOptions): string[] {
  const { deployment, version, id, contentType, clientHeaders } = options;
  let fixed = fixedOf.get(deployment);
  if (fixed === undefined) {
    fixed = makeFixed(deployment, version);
    fixedOf.set(deployment, fixed);
  }
  const headers = fixed.headers.slice();
  if (!fixed.hasContentType) headers.push('content-type', contentType);
  headers.push('x-request-id', id);
  if (clientHeaders !== null) addClientHeaders(headers, clientHeaders);
  return headers;
}

/** Later entries replace earlier ones, so configured headers have priority. */
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

/** Headers that are for this proxy, or that the proxy sets itself. */
const notForwarded = /^x-(?:litellm-|stainless-|request-id$)/;

function addClientHeaders(headers: string[], clientHeaders: IncomingHttpHeaders): void {
  const presentNames = names(headers);
  for (const [name, value] of Object.entries(clientHeaders)) {
    if (typeof value !== 'string' || presentNames.has(name) || secretHeader.test(name)) continue;
    if (name === 'anthropic-beta' || (name.startsWith('x-') && !notForwarded.test(name))) headers.push(name, value);
  }
}

function names(headers: readonly string[]): ReadonlySet<string> {
  return new Set(headers.filter((_text, index) => index % 2 === 0));
}
