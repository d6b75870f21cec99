/** The running service: starts, reloads and stops everything that a configuration describes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ListenError, openListener, type Listener } from '@rackless/daemon/network/listener.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { loadTls, TlsFilesError } from '@rackless/daemon/network/tls.js';
import { createApp, type App } from './app.js';
import { watchFiles, type FileWatch } from './config/file-watch.js';
import { ConfigError, type LoadedConfig } from './config/load.js';
import { createPassThrough } from './pass-through/index.js';
import type { RequestReports } from './request-report.js';
import type { Telemetry } from './request-span.js';
import type { ListenSettings } from './settings.js';
import { StoreError, type SharedKeyStore, type Store } from './store/store.js';
import { createUpstream } from './upstream/send.js';
import type { Upstream } from './upstream/upstream.js';
import { version } from './version.js';

/** Options of {@link startProxy}. */
interface ProxyOptions {
  readonly config: LoadedConfig;
  /** Loads the configuration again from the same files. @throws {ConfigError} */
  readonly load: () => Promise<LoadedConfig>;
  readonly log: Log;
  /** How often files are checked for changes, in milliseconds; default 1000. */
  readonly watchIntervalMs?: number;
}

/** A running service. */
export interface Proxy {
  /** Base URLs that clients may use, such as `http://127.0.0.1:4000`. */
  readonly addresses: readonly string[];
  /**
   * Loads the configuration again. If it has faults, the proxy logs them, and the current
   * configuration stays in use. Requests in progress do not change. Never rejects.
   */
  reload(): Promise<void>;
  /**
   * Shuts down: reports as not ready for `drainDelayMs`, then waits for requests in progress up to
   * `drainMs`, then closes their connections. The caller flushes the log.
   */
  close(): Promise<void>;
}

/**
 * Maximum time between the close frame to WebSockets and the end of their connections, in
 * milliseconds.
 */
const CLOSE_FRAME_MS = 1000;

/** Reports that the service cannot start. The message is one line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Starts the service. It does not contact the upstreams: an upstream that is down does not prevent
 * the start.
 * @throws {StartError} if the address, the TLS files or the store cannot be used.
 */
export async function startProxy({ config, load, log, watchIntervalMs }: ProxyOptions): Promise<Proxy> {
  const { listen, proxy: settings, environment } = config;
  const store = await openStore(listen, log);
  const upstream = createUpstream({ deployments: settings.deployments, environment, log });
  const running = { config };
  const passThrough = createPassThrough({ upstream });
  const { detailedDebug } = listen;
  const telemetry = await loadTelemetry(listen, log);
  const reports = await loadWebhooks(listen, log);
  const app = createApp({ settings, upstream, log, version, detailedDebug, passThrough, store, telemetry, reports });
  let listener: Listener;
  try {
    listener = await open(listen, app, log);
  } catch (error) {
    app.close();
    await upstream.close();
    await telemetry?.close();
    await reports?.close();
    await store?.close();
    throw error;
  }
  const modules = app.loadModules().catch((error: unknown) => log.error('loading modules', { error }));
  app.startHealthChecks();
  const models = modelNames(config);
  for (const address of listener.addresses) log.info(`serving at ${address}/v1`, { models });

  const watch = watchFiles({
    files: config.watchedFiles,
    onChange: () => {
      log.info('a file of the configuration has changed');
      void reload();
    },
    ...(watchIntervalMs === undefined ? {} : { intervalMs: watchIntervalMs }),
  });
  let isClosing = false;
  const isClosed = () => isClosing;
  let last = Promise.resolve();
  // One after the other: the last one has read the newest files.
  const reload = () =>
    (last = last.then(() => replaceConfig({ running, load, log, listener, upstream, app, watch, isClosed })));
  return { addresses: listener.addresses, reload, close: () => close() };

  async function close(): Promise<void> {
    isClosing = true;
    watch.close();
    // Report as not ready first: load balancers may send their checks on open connections.
    app.drain();
    // Keep listening for checks on new connections, such as HAProxy's, and for clients until the
    // balancer has noticed.
    if (listen.drainDelayMs > 0) await sleep(listen.drainDelayMs);
    const closing = setTimeout(
      () => app.closeWebSockets(),
      listen.drainMs - Math.min(CLOSE_FRAME_MS, listen.drainMs / 2),
    );
    await listener.close(listen.drainMs);
    clearTimeout(closing);
    await modules;
    await upstream.close();
    app.close();
    await telemetry?.close();
    await reports?.close();
    await store?.close();
  }
}

/** Loads OpenTelemetry, if the configuration asks for it. */
async function loadTelemetry({ telemetry }: ListenSettings, log: Log): Promise<Telemetry | null> {
  if (telemetry === null) return null;
  const { openTelemetry } = await import('./telemetry/open-telemetry.js');
  return openTelemetry(telemetry, log);
}

/** Loads the senders of reports, if the configuration asks for them. */
async function loadWebhooks({ webhooks }: ListenSettings, log: Log): Promise<RequestReports | null> {
  if (webhooks.length === 0) return null;
  const { openWebhooks } = await import('./webhooks/webhooks.js');
  return openWebhooks(webhooks, log);
}

/** @throws {StartError} the store cannot be used. */
async function openStore({ store }: ListenSettings, log: Log): Promise<Store | SharedKeyStore | undefined> {
  if (store === null) return undefined;
  const { keepDays, place } = store;
  try {
    if ('url' in place) {
      const { openRedisStore } = await import('./store/redis/redis-store.js');
      return await openRedisStore({ url: place.url, keepDays, log });
    }
    const { openEmbeddedStore } = await import('./store/embedded/embedded-store.js');
    return await openEmbeddedStore({ folder: place.folder, keepDays, log });
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, { cause: error.cause });
    throw error;
  }
}

const modelNames = ({ proxy }: LoadedConfig) => [...new Set(proxy.deployments.map(({ modelName }) => modelName))];

async function open(listen: ListenSettings, app: App, log: Log): Promise<Listener> {
  try {
    const tls =
      listen.tls === null ? {} : { tls: loadTls({ sslCert: listen.tls.certFile, sslKey: listen.tls.keyFile }) };
    return await openListener({
      ip: listen.host,
      port: listen.port,
      ...tls,
      handle: app.handler,
      onClientError: app.clientError,
      onUpgrade: app.upgrade,
      onExpectContinue: app.expectContinue,
      onError: (error) => log.error('accepting a connection failed', { error }),
      // No time limit for a whole request, because a large prompt over a slow connection takes long.
      // exchange/stalled-uploads.ts ends requests whose bytes stop arriving.
      server: { requestTimeout: 0 },
    });
  } catch (error) {
    // The configuration loader has read the TLS files, but they may have changed since.
    if (error instanceof ListenError || error instanceof TlsFilesError)
      throw new StartError(error.message, { cause: error });
    throw error;
  }
}

interface Replacing {
  readonly running: { config: LoadedConfig };
  readonly load: () => Promise<LoadedConfig>;
  readonly log: Log;
  readonly listener: Listener;
  readonly upstream: Upstream;
  readonly app: App;
  readonly watch: FileWatch;
  /** Returns whether the proxy shuts down. It then needs no new configuration. */
  readonly isClosed: () => boolean;
}

/**
 * The error of a reload that would remove the last model. A start without models is allowed, because
 * models may be added later.
 */
const NO_MODEL_LEFT = 'no entry of model_list can be served';

/** Loads and applies a new configuration, completely or not at all. Never rejects. */
async function replaceConfig(replacing: Replacing): Promise<void> {
  const { running, load, log, listener, upstream, app, watch, isClosed } = replacing;
  if (isClosed()) return;
  // A file that changes while it is read triggers another reload.
  watch.mark();
  let next: LoadedConfig;
  try {
    next = await load();
    if (isClosed()) return;
    if (next.proxy.deployments.length === 0 && running.config.proxy.deployments.length > 0)
      throw new ConfigError([...next.warnings, NO_MODEL_LEFT], [], next.watchedFiles);
    if (next.listen.tls !== null)
      listener.setTls(loadTls({ sslCert: next.listen.tls.certFile, sslKey: next.listen.tls.keyFile }));
  } catch (error) {
    // A failed reload must never end a working proxy, whatever the error.
    if (error instanceof ConfigError) for (const fault of error.faults) log.error(`reloading: ${fault}`);
    else log.error('reloading', { error });
    log.error('reloading the configuration failed: the old one stays in use');
    // The fault may lie in a file that only the faulty configuration names, so watch that file as
    // well.
    const faultyFiles = error instanceof ConfigError ? error.watchedFiles : [];
    watch.replace([...new Set([...running.config.watchedFiles, ...faultyFiles])]);
    return;
  }
  // A file can have a warning for each of thousands of entries.
  const known = new Set(running.config.warnings);
  for (const warning of next.warnings) if (!known.has(warning)) log.warn(warning);
  upstream.reload(next.proxy.deployments);
  app.replaceSettings(next.proxy);
  running.config = next;
  watch.replace(next.watchedFiles);
  log.info('configuration reloaded', { models: modelNames(next) });
}
