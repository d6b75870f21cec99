/**
 * The pages that Express serves: the home page, `/routes`, `/metrics`, `/health`, `/model/info` and `/model/status`.
 * Loaded after the start.
 */
import express, { type NextFunction, type Request, type Response } from 'express';
import { answerJson, answerText } from '../exchange/answer/answer-json.js';
import { endpoints } from '../endpoints/index.js';
import type { Exchange, ProxyState } from '../exchange/exchange.js';
import { endpointPaths, plainPath } from '../endpoints/paths.js';
import { refuse } from '../exchange/answer/refusal.js';
import { noSuchPath } from '../errors/path.js';
import { toProxyError } from '../errors/proxy-error.js';
import { managementPaths } from '../management/paths.js';
import type { Metrics } from '../metrics.js';
import type { Deployment } from '../providers/deployment.js';
import type { ProxySettings } from '../settings.js';
import { rawPaths } from '../pass-through/paths.js';
import { CONSOLE_PATH } from './console.js';
import { healthReport, type HealthReport } from './health.js';
import { renderHome } from './home.js';
import { scrapedState, siblingSnapshots } from './deployment-states.js';
import { describeDeployments } from './models.js';
import { modelStatus } from './model-status.js';
import { modelInfoPage, pagePaths } from './paths.js';
import { polledPaths } from './polled.js';

/**
 * Answers a GET or HEAD request for one of {@link pagePaths}. If the page needs a key, the caller has
 * already authenticated the client.
 */
export type Pages = (exchange: Exchange) => void;

/** Express's response with the exchange attached. */
type Reply = Response<unknown, { exchange: Exchange }>;

/** Creates the pages. */
export function createPages(metrics: Pick<Metrics, 'expose' | 'totalsOf'>): Pages {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const health = sharedHealthCheck();

  app.get('/', (_request: Request, { locals: { exchange } }: Reply) => {
    const { proxy } = exchange;
    // The page is open to everyone. Model names are shown only if their list needs no key either.
    const models = proxy.settings.clientKeys === null ? proxy.router.modelNames : null;
    answerText(exchange, 200, 'text/html; charset=utf-8', renderHome({ models, version: proxy.version }), pagePolicy);
  });
  app.get('/metrics', async (_request: Request, { locals: { exchange } }: Reply) => {
    const { proxy } = exchange;
    const { contentType, text } = await metrics.expose(scrapedState(proxy), await siblingSnapshots(proxy));
    answerText(exchange, 200, contentType, text);
  });
  app.get('/health', async (request: Request, { locals: { exchange } }: Reply) => {
    const { model, model_id: id } = request.query;
    const isForAll = typeof model !== 'string' && typeof id !== 'string';
    const report = await health(exchange, isForAll ? null : { model, id });
    // As in LiteLLM, the status shows only for a single model or deployment whether it is healthy.
    answerJson(exchange, isForAll || report.healthy_count > 0 ? 200 : 503, report);
  });
  app.get([...modelInfoPage.paths], (request: Request, { locals: { exchange } }: Reply) => {
    const id = request.query['litellm_model_id'];
    const deployments = visibleDeployments(exchange);
    answerJson(
      exchange,
      200,
      describeDeployments(typeof id === 'string' ? deployments.filter((one) => one.id === id) : deployments),
    );
  });
  app.get('/model/status', async (_request: Request, { locals: { exchange } }: Reply) => {
    const others = await siblingSnapshots(exchange.proxy);
    answerJson(exchange, 200, { data: modelStatus(exchange, visibleDeployments(exchange), metrics, others) });
  });
  app.get('/routes', (_request: Request, { locals: { exchange } }: Reply) => {
    answerJson(exchange, 200, { routes: allRoutes(exchange.proxy.settings) });
  });
  app.use(({ method, path }: Request, { locals: { exchange } }: Reply) => {
    refuse(exchange, noSuchPath(method, path));
  });
  // Express recognizes an error handler by its four parameters.
  app.use((error: unknown, _request: Request, { locals: { exchange } }: Reply, _next: NextFunction) => {
    refuse(exchange, toProxyError(error));
  });

  return (exchange) => {
    const { request, response } = exchange;
    // Give Express the normalized path: it does not handle repeated slashes and absolute URLs.
    const url = request.url ?? '/';
    const query = url.indexOf('?');
    request.url = plainPath(url) + (query === -1 ? '' : url.slice(query));
    app(request, Object.assign(response, { locals: { exchange } }));
  };
}

/** Returns the deployments that the client may use. */
function visibleDeployments({ client, proxy: { settings } }: Exchange): readonly Deployment[] {
  const key = client?.key;
  if (key === undefined) return settings.deployments;
  return settings.deployments.filter(({ modelName }) => key.allowsModel(modelName));
}

/** Blocks scripts and external content, in case a model's name defeats the escaping. */
const pagePolicy = [
  'content-security-policy',
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options',
  'nosniff',
];

/**
 * Makes at most one report at a time for each model or deployment, and one for all models. Concurrent
 * requests share the report, because each check costs tokens.
 */
function sharedHealthCheck(): (exchange: Exchange, wanted: WantedModel | null) => Promise<HealthReport> {
  const running = new Map<string, Promise<HealthReport>>();
  return ({ proxy }, wanted) => {
    const key = JSON.stringify(wanted);
    const current = running.get(key);
    if (current !== undefined) return current;
    const report = healthReport(proxy, wantedDeployments(proxy, wanted)).finally(() => running.delete(key));
    running.set(key, report);
    return report;
  };
}

/** The query of `/health`: a public name of a model, or the id of a deployment, which has priority. */
interface WantedModel {
  readonly model: unknown;
  readonly id: unknown;
}

function wantedDeployments({ router, settings }: ProxyState, wanted: WantedModel | null): readonly Deployment[] {
  if (wanted === null) return settings.deployments;
  if (typeof wanted.id === 'string') return settings.deployments.filter(({ id }) => id === wanted.id);
  return router.deploymentsOf(String(wanted.model));
}

/** Lists all routes, in the format of LiteLLM's `/routes`. */
function allRoutes({
  forwardedPaths,
}: ProxySettings): readonly { readonly path: string; readonly methods: readonly string[] }[] {
  const forwarded = [...forwardedPaths].flatMap((path) => [`/v1/${path}`, `/${path}`]);
  return [
    ...forwarded.map((path) => ({ path, methods: ['POST'] })),
    ...endpointPaths(endpoints).map((path) => ({ path, methods: ['POST'] })),
    ...[...polledPaths, ...pagePaths.keys(), CONSOLE_PATH].map((path) => ({ path, methods: ['GET', 'HEAD'] })),
    ...[...managementPaths].map(([path, method]) => ({ path, methods: [method] })),
    ...[...rawPaths].map(([path, methods]) => ({ path, methods })),
  ];
}
