/** Makes the request to the upstream from the client's request and the configuration. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Deployment } from '../../providers/deployment.js';
import { DialectRequest } from '../../providers/dialect.js';
import type { CallTraits } from '../../providers/target.js';
import type { TranslatedCall } from '../../providers/translation.js';
import type { Selection } from '../../routing/router.js';
import { BodyStream } from '../../upstream/body-stream.js';
import type { UpstreamRequest } from '../../upstream/upstream.js';
import type { Endpoint } from '../../endpoints/endpoint.js';
import type { ProxyState } from '../exchange.js';
import type { RequestBody } from './request-body.js';
import { requestTimeouts, type ClientTimeouts } from '../request-timeouts.js';
import { upstreamHeaders } from './upstream-headers.js';

/** Options of {@link upstreamRequest}. */
interface UpstreamRequestOptions {
  readonly proxy: Pick<ProxyState, 'settings' | 'version'>;
  readonly selection: Selection;
  readonly endpoint: Endpoint;
  /** A complete body, or an incomplete body with `canBeSent`. */
  readonly body: RequestBody;
  /** Id of the client's request. */
  readonly id: string;
  /** The headers of the client's request. */
  readonly head: IncomingHttpHeaders;
  /** The part of the client's query that goes upstream, without `?`; undefined: none. */
  readonly clientQuery: string | undefined;
  /** Timeouts that the client sets; null: the request has no such header. */
  readonly clientTimeouts: ClientTimeouts | null;
  /** Whether the client requests a stream of events, as far as the body has arrived. */
  readonly streams: boolean;
  /** The translation to the API of the provider; null: the request needs none. */
  readonly translated: TranslatedCall | null;
}

/**
 * Makes the request to the upstream.
 * @throws {ProxyError} 400: as {@link RequestBody.forUpstream}.
 */
export function upstreamRequest(options: UpstreamRequestOptions): UpstreamRequest {
  const { proxy, selection, endpoint, body, id, head, clientQuery, clientTimeouts, streams, translated } = options;
  const { settings, version } = proxy;
  const { deployment } = selection;
  const prepared = body.forUpstream(selection, endpoint, settings, translated);
  const own = prepared instanceof DialectRequest ? prepared : undefined;
  const traits = { model: selection.upstreamModel, streams };
  const url = own === undefined ? endpointUrl(deployment, endpoint, translated, traits) : ownUrl(deployment, own);
  const jsonType = own?.contentType ?? 'application/json';
  const headers = upstreamHeaders({
    deployment,
    version,
    id,
    contentType: endpoint.requestBody === 'json' ? jsonType : (head['content-type'] ?? ''),
    clientHeaders: settings.forwardClientHeaders ? head : null,
    anthropicHeaders: endpoint.api === 'anthropic' && translated === null ? head : null,
  });
  const request = {
    deployment,
    method: 'POST',
    url: withQuery(url, clientQuery),
    headers: own === undefined ? headers : [...headers, ...Object.entries(own.headers).flat()],
    body: prepared instanceof DialectRequest ? [prepared.body] : prepared,
    timeouts: requestTimeouts(clientTimeouts, deployment, streams),
  };
  if (request.body instanceof BodyStream)
    return { ...request, finalTimeouts: () => requestTimeouts(clientTimeouts, deployment, body.streams) };
  const { dialect } = deployment.provider;
  if (dialect?.sign === undefined) return request;
  const { method, body: bytes } = request;
  const signature = dialect.sign({ apiKey: deployment.apiKey, method, url: request.url, body: bytes });
  return { ...request, body: bytes, headers: [...request.headers, ...Object.entries(signature).flat()] };
}

const ownUrl = ({ apiBase, query }: Deployment, { path }: DialectRequest): string =>
  withQuery(path === '' ? apiBase : `${apiBase}/${path}`, query);

/**
 * Returns the URL of a request. Adds the query of the deployment, unless the path that the provider's `pathOf` returns
 * has a query. Do not call this for a {@link DialectRequest}, which has its own path.
 */
export function endpointUrl(
  { apiBase, query, pathOf }: Deployment,
  endpoint: Pick<Endpoint, 'path' | 'besideVersion'>,
  translated: TranslatedCall | null,
  traits: CallTraits,
): string {
  const { path, besideVersion } =
    translated === null ? endpoint : { path: pathOfDialect(translated), besideVersion: false };
  if (pathOf === undefined) return withQuery(urlOfPath(apiBase, { path, besideVersion }), query);
  const own = pathOf(path, traits);
  return withQuery(`${apiBase}/${own}`, own.includes('?') ? undefined : query);
}

const pathOfDialect = ({ endpoint, call }: TranslatedCall) => endpoint.path(call);

/** Adds the query of the deployment or of the client. The path of a dialect may already have a query. */
function withQuery(url: string, query: string | undefined): string {
  if (query === undefined) return url;
  return `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

/**
 * Returns the URL of a path. As in LiteLLM, an `api_base` that ends with the endpoint's path is the complete URL. For
 * an endpoint beside `/v1`, the path replaces a `/v1` at the end.
 */
function urlOfPath(apiBase: string, { path, besideVersion }: Pick<Endpoint, 'path' | 'besideVersion'>): string {
  if (besideVersion && apiBase.endsWith('/v1')) return `${apiBase.slice(0, -'/v1'.length)}/${path}`;
  return apiBase.endsWith(`/${path}`) ? apiBase : `${apiBase}/${path}`;
}
