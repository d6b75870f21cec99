/** Makes the upstream request of an attempt. */
import type { Target } from '../../endpoints/paths.js';
import { modelParameterNotAllowed } from '../../errors/access.js';
import type { Deployment } from '../../providers/deployment.js';
import { translationOf, type TranslatedCall } from '../../providers/translation.js';
import type { RequestStart, Telemetry } from '../../request-span.js';
import type { Selection } from '../../routing/router.js';
import type { TracedRequest } from '../../trace.js';
import { BodyStream } from '../../upstream/body-stream.js';
import type { UpstreamRequest } from '../../upstream/upstream.js';
import type { Exchange } from '../exchange.js';
import { hidesUsage } from '../report-options.js';
import type { RequestBody } from '../request/request-body.js';
import { upstreamRequest } from '../request/upstream-request.js';

/** A request to an upstream. */
interface Outgoing {
  readonly outgoing: UpstreamRequest;
  /** The translation to the API of the provider; null: the request needs none. */
  readonly translated: TranslatedCall | null;
}

/**
 * Makes the request for a deployment. Also stores in the exchange what the answer must omit or encode. With telemetry,
 * begins the span of the attempt.
 * @throws {ProxyError} 400: the deployment does not support a parameter or the endpoint; 403: as
 *   {@link checkModelParameters}.
 */
export function outgoingRequest(
  exchange: Exchange,
  { endpoint }: Target,
  body: RequestBody,
  selection: Selection,
): Outgoing {
  const { proxy, request, id, clientTimeouts } = exchange;
  const { streams } = body;
  const { deployment, upstreamModel } = selection;
  checkModelParameters(exchange, deployment, body);
  const translated = translationOf(deployment, endpoint.path, upstreamModel, streams);
  if (translated !== null && endpoint.path === 'embeddings')
    exchange.encodesEmbeddings = body.parameter('encoding_format') === 'base64';
  exchange.hidesUsage = hidesUsage(proxy.settings, deployment, body);
  // Lists all members, because a spread of another object would take as long as the rest of this function.
  const options = {
    proxy,
    selection,
    endpoint,
    body,
    id,
    head: request.headers,
    clientQuery: endpoint.api === 'anthropic' && translated === null ? rawQueryOf(request.url) : undefined,
    clientTimeouts,
    streams,
    translated,
  };
  const outgoing = upstreamRequest(options);
  if (proxy.telemetry === null) return { outgoing, translated };
  const headers = beginAttempt(exchange, proxy.telemetry, endpoint.mode, selection);
  return { outgoing: { ...outgoing, headers: [...outgoing.headers, ...headers] }, translated };
}

/**
 * Checks that a key with a list of models selects no other models at the provider. A provider with a dialect gets no
 * parameter with which the key could do so.
 * @throws {ProxyError} 403: the request has such a parameter, with a value.
 */
function checkModelParameters({ client }: Exchange, { provider }: Deployment, body: RequestBody): void {
  if (client?.key?.isRestricted !== true || provider.dialect !== undefined) return;
  const found = provider.modelParameters?.find((name) => body.has(name) && !isEmpty(body.parameter(name)));
  if (found !== undefined) throw modelParameterNotAllowed(found);
}

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

/**
 * Begins the span of the attempt; before the first attempt, also the span of the request.
 * @returns headers with which the upstream continues the trace.
 */
function beginAttempt(
  exchange: Exchange,
  telemetry: Telemetry,
  mode: string,
  { deployment, upstreamModel }: Selection,
): readonly string[] {
  exchange.span ??= telemetry.begin(requestStart(exchange));
  const { provider, apiBase, id } = deployment;
  return exchange.span.beginAttempt({
    mode,
    provider: provider.name,
    model: upstreamModel,
    deploymentId: id,
    url: apiBase,
  });
}

/** Returns the values of a request that its span needs at its start. */
export function requestStart({ request, routeLabel, startedAt, id }: Exchange): RequestStart {
  return { headers: request.headers, method: request.method ?? '', route: routeLabel, startedAt, id };
}

/** Returns the query of a URL, which Anthropic's SDK uses for beta features, such as `beta=true`; undefined: none. */
function rawQueryOf(url = ''): string | undefined {
  const at = url.indexOf('?');
  return at === -1 || at === url.length - 1 ? undefined : url.slice(at + 1);
}

/** Returns the request for the trace. For a streaming body: the part received so far. */
export function tracedRequest(outgoing: UpstreamRequest): TracedRequest {
  return { ...outgoing, body: outgoing.body instanceof BodyStream ? outgoing.body.traced : outgoing.body };
}
