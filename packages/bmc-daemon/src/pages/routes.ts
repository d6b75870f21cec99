/**
 * Routes for Express: the web console, the table of the machines, health and metrics. Everything below /redfish uses
 * the pipeline (app.ts).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { DriverError, isDriverError } from '../drivers/driver-error.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { readHostSnapshots } from '../drivers/hosts-control.js';
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import type { Metrics } from '../metrics.js';
import { errorAnswer } from '../redfish/answer.js';
import { describeRefusal, LoginRefused, type Authenticate } from '../redfish/authenticate.js';
import { forbiddenError } from '../redfish/authorize.js';
import { methodNotAllowed } from '../redfish/endpoint.js';
import { toRedfishError } from '../redfish/messages/driver-errors.js';
import { redfishError, type RedfishError } from '../redfish/messages/errors.js';
import type { RequestOutcome } from '../redfish/pipeline.js';
import { createConsole } from './console.js';
import { renderMachines, renderUnavailable, type MachineRow } from './machines.js';

/** The driver methods that the pages use. */
export type PagesDriver = Pick<HypervisorDriver, 'name' | 'ping' | 'listSystems' | 'getSystem' | 'hosts'>;

/** The services that the pages need. */
interface PagesOptions {
  readonly driver: PagesDriver;
  /** Returns the driver, restricted to the machines that a request may see. */
  readonly driverFor: (request: IncomingMessage) => PagesDriver;
  readonly metrics: Pick<Metrics, 'expose'>;
  readonly authenticate: Authenticate;
  /** The daemon's version, for the page's footer. */
  readonly version: string;
}

/** The data of a request for the log. */
interface Notes {
  route: string;
  user: string | null;
  refused?: string;
  error?: unknown;
}
type Reply = Response<unknown, Record<string, unknown> & Notes>;

const allow = 'GET, HEAD';

/** The table of the machines for browsers without JavaScript. */
const PLAIN = '/ui/plain';

/** The paths of the web console. */
const CONSOLE = /^\/ui(\/.*)?$/;

/** How many machines are read in parallel, so that a page leaves room for Redfish clients. */
const readsAtOnce = 8;

/**
 * Creates the handler of all these routes. It answers one request. It resolves when the answer is sent completely
 * or the connection is closed, and never rejects.
 */
export function createPages(
  options: PagesOptions,
): (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<RequestOutcome> {
  const app = express();
  const health = createHealth(options.driver);
  app.disable('x-powered-by');
  app.disable('etag');

  const sendConsole = createConsole();
  app.get('/', (_request: Request, response: Reply) => {
    response.locals.route = '/';
    response.redirect(302, '/ui/');
  });
  app.get(PLAIN, async (request: Request, response: Reply) => {
    response.locals.route = PLAIN;
    const driver = options.driverFor(request);
    await login(options.authenticate, request, response);
    await machinesPage(driver, options.version, response);
  });
  app.get('/healthz', async (_request: Request, response: Reply) => {
    response.locals.route = '/healthz';
    await health(response);
  });
  app.get('/metrics', async (_request: Request, response: Reply) => {
    response.locals.route = '/metrics';
    const { contentType, text } = await options.metrics.expose();
    response.setHeader('Content-Type', contentType);
    response.setHeader('Cache-Control', 'no-store');
    response.end(text);
  });
  app.get(CONSOLE, (request: Request, response: Reply) => {
    response.locals.route = '/ui';
    if (!sendConsole(request, response)) throw redfishError('ResourceMissingAtURI', request.path);
  });
  app.all(['/', '/healthz', '/metrics', CONSOLE], (request: Request, response: Reply) => {
    const isConsole = CONSOLE.test(request.path);
    response.locals.route = isConsole ? '/ui' : request.path === '/' ? '/' : request.path.replace(/\/$/, '');
    if (request.method !== 'OPTIONS') throw methodNotAllowed({ allow });
    response.setHeader('Allow', allow);
    response.status(204).end();
  });
  app.use((request: Request) => {
    throw redfishError('ResourceMissingAtURI', request.path);
  });
  // Express recognizes an error handler by its four parameters. This handler never calls _next,
  // because Express's default handler answers with HTML and writes to standard error.
  app.use((error: unknown, request: Request, response: Reply, _next: NextFunction) => {
    if (!response.headersSent) {
      fail(toRedfishError(error, { path: request.path }), response);
      return;
    }
    // An answer in progress cannot become an error answer. So only the log has the error, and the connection closes.
    response.locals.error = error;
    response.destroy();
  });

  return (request, response, requestId) =>
    new Promise((resolve) => {
      const notes: Notes = { route: 'unmatched', user: null };
      response.setHeader('X-Request-Id', requestId);
      response.once('close', () => resolve({ ...notes, status: response.statusCode }));
      const reply = Object.assign(response, { locals: notes });
      // A URL without a slash at its start is `*` or invalid. Express does not get it, because its
      // old URL parser would print a warning.
      if (request.url?.startsWith('/') === true) app(request, reply);
      else fail(redfishError('ResourceMissingAtURI', maskUrl(request.url ?? '')), reply);
    });
}

/**
 * Authenticates a request.
 * @throws {RedfishError} 401, for which a browser asks for the password; 403 for accounts that cannot see machines
 *   in Redfish; 503 if the credentials could not be verified.
 */
async function login(authenticate: Authenticate, request: Request, { locals }: Reply): Promise<void> {
  const identity = await authenticate(request);
  if ('refused' in identity) {
    locals.refused = describeRefusal(identity);
    throw new LoginRefused(identity);
  }
  locals.user = identity.user;
  if (!identity.privileges.has('Login')) throw forbiddenError(identity);
}

async function machinesPage(driver: PagesDriver, version: string, response: Reply): Promise<void> {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Cache-Control', 'no-store');
  // A machine's name is foreign text. Even if the escaping failed, the browser must not run it or
  // load anything from it.
  response.setHeader(
    'Content-Security-Policy',
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  try {
    const [machines, hosts] = await Promise.all([
      readMachines(driver),
      driver.hosts === undefined ? [] : readHostSnapshots(driver.hosts),
    ]);
    response.end(renderMachines({ hypervisor: driver.name, version, machines, hosts }));
  } catch (error) {
    if (!isDriverError(error, 'unavailable')) throw error;
    response.statusCode = 503;
    response.setHeader('Retry-After', '5');
    response.locals.error = error;
    response.end(renderUnavailable({ hypervisor: driver.name, reason: error.message }));
  }
}

/**
 * Reads all machines, sorted by name. If reading a machine fails, its row has no state. If a whole
 * batch of parallel reads is unavailable, the rest is not read, because each batch would cost
 * another timeout.
 * @throws {DriverError} the error of `listSystems`; unavailable if a whole batch fails before any
 *   machine could be read.
 */
async function readMachines(driver: PagesDriver): Promise<readonly MachineRow[]> {
  const refs = [...(await driver.listSystems())].sort((a, b) => a.name.localeCompare(b.name));
  const rows: MachineRow[] = [];
  for (let start = 0; start < refs.length; start += readsAtOnce) {
    const end = start + readsAtOnce;
    const batch = await Promise.all(refs.slice(start, end).map((ref) => readMachine(driver, ref)));
    const unavailable = batch.flatMap(({ failure }) => (failure?.kind === 'unavailable' ? [failure] : []));
    rows.push(...batch.map(({ row }) => row));
    if (unavailable[0] === undefined || unavailable.length < batch.length) continue;
    if (rows.every(({ system }) => system === null)) throw unavailable[0];
    return [...rows, ...refs.slice(end).map((ref) => ({ ...ref, system: null }))];
  }
  return rows;
}

async function readMachine(
  driver: PagesDriver,
  ref: SystemRef,
): Promise<{ readonly row: MachineRow; readonly failure?: DriverError }> {
  try {
    return { row: { ...ref, system: await driver.getSystem(ref.uuid) } };
  } catch (error) {
    if (error instanceof DriverError) return { row: { ...ref, system: null }, failure: error };
    throw error;
  }
}

/**
 * Returns the handler of `/healthz`. Probes are frequent, so it logs a reason only if the previous
 * probe did not fail for the same reason.
 */
function createHealth(driver: PagesDriver): (response: Reply) => Promise<void> {
  let logged: string | null = null;
  return async (response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      await driver.ping();
      logged = null;
      response.json({ status: 'ok', hypervisor: driver.name });
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      if (error.message !== logged) response.locals.error = error;
      logged = error.message;
      response.status(503).json({ status: 'unavailable', hypervisor: driver.name, reason: error.message });
    }
  };
}

/** Sends an error with the same body as below /redfish. */
function fail(error: RedfishError, response: ServerResponse & { readonly locals: Notes }): void {
  const { status, headers, body } = errorAnswer(error);
  if (status >= 500) response.locals.error = error.cause ?? error;
  for (const name of response.getHeaderNames()) if (name !== 'x-request-id') response.removeHeader(name);
  response.writeHead(status, [...headers]);
  response.end(body);
}
