/**
 * Runs the app and an upstream on real sockets, without a configuration file. For tests that need no complete proxy.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openListener } from '@rackless/daemon/network/listener.js';
import { runAtOnce } from '@rackless/daemon/process/slices.js';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createApp, type App, type AppOptions } from '../../src/app.js';
import type { Deployment } from '../../src/providers/deployment.js';
import type { ProxySettings } from '../../src/settings.js';
import { createUpstream } from '../../src/upstream/send.js';
import type { Upstream } from '../../src/upstream/upstream.js';
import { makeDeployment, SIMPLE_SHUFFLE } from './deployment.js';

/** A request at the upstream. */
export interface UpstreamRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly request: IncomingMessage;
}

/** Sends the upstream's answer. */
export type AnswerHandler = (request: UpstreamRequest, response: ServerResponse) => void;

/** A running app and its upstream. */
export interface ServedApp {
  /** The address of the app, such as `http://127.0.0.1:12345`. */
  readonly url: string;
  readonly port: number;
  readonly upstreamPort: number;
  readonly app: App;
  /** Complete requests at the upstream. */
  readonly requests: UpstreamRequest[];
  /** Sends the upstream's answers from now on. */
  answering: AnswerHandler;
  /** Uses other settings for new requests. */
  replaceSettings(settings: ProxySettings): void;
  /** Returns the lines of the log since the last call, parsed from JSON. */
  lines(): Record<string, unknown>[];
  close(): Promise<void>;
}

/** Makes a deployment of `hosted_vllm` with a model and a key, by default without other settings. */
export function deploymentAt(apiBase: string, changed: Partial<Deployment> = {}): Deployment {
  return makeDeployment({ upstreamModel: 'served/model', apiBase, apiKey: 'sk-upstream-0123456789', ...changed });
}

/** Makes settings with defaults for everything except the deployments. */
export function settingsOf(deployments: readonly Deployment[], changed: Partial<ProxySettings> = {}): ProxySettings {
  return {
    deployments,
    modelGroupAlias: new Map(),
    retry: { retries: 0, policy: new Map(), groupPolicies: new Map(), minWaitMs: 0, budget: 0.2 },
    cooldown: { isDisabled: false, cooldownMs: 5000, allowedFails: null, policy: new Map() },
    fallback: { general: new Map(), contextWindow: new Map(), contentPolicy: new Map(), max: 5 },
    healthChecks: { showsDetails: true, concurrency: 16, skipsDisabled: false, background: null },
    overload: null,
    strategy: SIMPLE_SHUFFLE,
    modelNameInResponse: 'provider',
    fillNullFields: false,
    alwaysIncludeStreamUsage: false,
    maxRequestBytes: 1_048_576,
    maxResponseBytes: 16_777_216,
    forwardedPaths: new Set(),
    allowedRoutes: null,
    allowedIps: null,
    useXForwardedFor: false,
    masterKeyRoutes: new Set(),
    adminOnlyRoutes: [],
    enforceUserParam: false,
    forwardClientHeaders: false,
    clientKeys: null,
    ...changed,
  };
}

/** Makes a handler that answers with a value as JSON. Sends a string as it is. */
export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): AnswerHandler {
  return (_asked, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
}

/** Options of {@link serveApp}. */
export interface ServeOptions {
  readonly settings?: Partial<ProxySettings>;
  readonly deployment?: Partial<Deployment>;
  readonly app?: Partial<Pick<AppOptions, 'detailedDebug' | 'passThrough' | 'store'>>;
  /** Whether Node's HTTP server serves all requests. Default: some take the listener's shortcut, as in the daemon. */
  readonly withoutShortcut?: boolean;
}

/** Starts the app and its upstream. */
export async function serveApp({
  settings,
  deployment,
  app: more,
  withoutShortcut = false,
}: ServeOptions = {}): Promise<ServedApp> {
  const requests: UpstreamRequest[] = [];
  const state: { answering: AnswerHandler } = { answering: json({ id: 'x', model: 'served/model' }) };
  const upstreamServer = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, url, headers, body: Buffer.concat(chunks), request };
      requests.push(received);
      state.answering(received, response);
    });
  });
  const upstreamPort = await listen(upstreamServer);
  const first = deploymentAt(`http://127.0.0.1:${upstreamPort}/v1`, deployment);
  const proxySettings = settingsOf([first], settings);

  let written = '';
  const log = createTestLog({ level: 'debug', format: 'json', write: (text) => (written += text) });
  const upstream: Upstream = createUpstream({ deployments: proxySettings.deployments, environment: {}, log });
  const app = createApp({ settings: proxySettings, upstream, log, version: '9.9.9', detailedDebug: false, ...more });
  const listener = await openListener({
    ip: '127.0.0.1',
    port: 0,
    handle: app.handler,
    takesShortcut: (path) => !withoutShortcut && app.takesShortcut(path),
    onClientError: app.clientError,
    onUpgrade: app.upgrade,
    onExpectContinue: app.expectContinue,
    onError: () => undefined,
  });
  const [url = ''] = listener.addresses;
  const port = Number(new URL(url).port);
  return {
    url,
    port,
    upstreamPort,
    app,
    requests,
    get answering() {
      return state.answering;
    },
    set answering(answering) {
      state.answering = answering;
    },
    replaceSettings: (settings) => runAtOnce(app.prepare(settings))(),
    lines() {
      log.flush();
      const lines = written.split('\n').filter((line) => line !== '');
      written = '';
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>); // each line of this log is a JSON object
    },
    async close() {
      await listener.close(0);
      await upstream.close();
      await closeServer(upstreamServer);
      app.close();
      // The log must not write after jest has ended.
      log.flush();
    },
  };
}

/** Starts a server on a free port of the loopback address, and returns the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // a TCP server has this type of address
}

async function closeServer(server: Server): Promise<void> {
  const done = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await done;
}
