/** What an upstream is asked, made of what a client asked and of what is configured. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Selection } from '../routing/router.js';
import { BodyStream } from '../upstream/body-stream.js';
import type { UpstreamRequest } from '../upstream/upstream.js';
import type { Endpoint } from './endpoint.js';
import type { Serving } from './exchange.js';
import type { RequestBody } from './request-body.js';
import { boundsOf, type RequestBounds } from './request-bounds.js';
import { upstreamHeaders } from './upstream-headers.js';

export interface UpstreamRequestOptions {
  readonly serving: Pick<Serving, 'settings' | 'version'>;
  readonly selection: Selection;
  readonly endpoint: Endpoint;
  /** Finished, or one that can be sent before it is. */
  readonly body: RequestBody;
  /** Of the client's request. */
  readonly id: string;
  /** The headers of the client's request. */
  readonly head: IncomingHttpHeaders;
  /** What the client wants to wait at most; null: it does not say. */
  readonly bounds: RequestBounds | null;
  /** Whether it wants events, as far as is known. */
  readonly streams: boolean;
}

/** @throws {ProxyError} 400 where the deployment does not take a parameter. */
export function upstreamRequest(options: UpstreamRequestOptions): UpstreamRequest {
  const { serving, selection, endpoint, body, id, head, bounds, streams } = options;
  const { settings, version } = serving;
  const { deployment } = selection;
  const request = {
    deployment,
    method: 'POST',
    url: urlOf(deployment.apiBase, endpoint),
    headers: upstreamHeaders({
      deployment,
      version,
      id,
      contentType: endpoint.requestBody === 'json' ? 'application/json' : (head['content-type'] ?? ''),
      clientHeaders: settings.forwardClientHeaders ? head : null,
    }),
    body: body.forUpstream(selection, endpoint, settings),
    timeouts: boundsOf(bounds, deployment, streams),
  };
  if (!(request.body instanceof BodyStream)) return request;
  return { ...request, timeoutsOfWhole: () => boundsOf(bounds, deployment, body.streams) };
}

/** As in LiteLLM, an `api_base` that ends with the endpoint's path is the whole address. */
function urlOf(apiBase: string, { path, besideVersion }: Endpoint): string {
  if (besideVersion && apiBase.endsWith('/v1')) return `${apiBase.slice(0, -'/v1'.length)}/${path}`;
  return apiBase.endsWith(`/${path}`) ? apiBase : `${apiBase}/${path}`;
}
