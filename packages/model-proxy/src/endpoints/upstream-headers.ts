/** What an upstream is told: our own headers, never the client's, unless the configuration wants some of them passed on. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Deployment } from '../providers/deployment.js';
import { secretHeader } from '../secret-names.js';

/** What is the same for every request to a deployment, so made once for each. */
interface Fixed {
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Whether the configuration says which content type there is. */
  readonly hasContentType: boolean;
}

const fixedOf = new WeakMap<Deployment, Fixed>();

export interface UpstreamHeadersOptions {
  readonly deployment: Deployment;
  readonly version: string;
  /** `x-request-id`, so that a request can be found in the upstream's log. */
  readonly id: string;
  /** As the client sent it where it holds a form's boundary; JSON otherwise. */
  readonly contentType: string;
  /** `forward_client_headers_to_llm_api`; null: none of the client's. */
  readonly clientHeaders: IncomingHttpHeaders | null;
}

/** The headers of a request to an upstream: name, value, name, value; names lower case. */
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

/** Later ones take the place of earlier ones: what is configured wins. */
function makeFixed({ provider, apiKey, extraHeaders }: Deployment, version: string): Fixed {
  const merged = {
    accept: 'application/json, text/event-stream, */*;q=0.5',
    // What comes compressed could not be rewritten.
    'accept-encoding': 'identity',
    'user-agent': `rackless-model-proxy/${version}`,
    ...provider.headers(apiKey),
    ...extraHeaders,
  };
  return { headers: Object.entries(merged).flat(), hasContentType: 'content-type' in merged };
}

/** Headers that belong to this proxy or to one in front of it, or are set by us. */
const keptBack = /^x-(?:litellm-|stainless-|request-id$)/;

function addClientHeaders(headers: string[], clientHeaders: IncomingHttpHeaders): void {
  const taken = names(headers);
  for (const [name, value] of Object.entries(clientHeaders)) {
    if (typeof value !== 'string' || taken.has(name) || secretHeader.test(name)) continue;
    if (name === 'anthropic-beta' || (name.startsWith('x-') && !keptBack.test(name))) headers.push(name, value);
  }
}

function names(headers: readonly string[]): ReadonlySet<string> {
  return new Set(headers.filter((_text, index) => index % 2 === 0));
}
