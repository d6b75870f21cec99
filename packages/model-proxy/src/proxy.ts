/** The running service: starts, reloads and stops everything that a configuration describes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ListenError, openListener, type Listener } from '@rackless/daemon/network/listener.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { closeAfterFailure, closeInReverse, type Closable } from '@rackless/daemon/process/close-all.js';
import { runInSlices } from '@rackless/daemon/process/slices.js';
import { loadTls, TlsFilesError } from '@rackless/daemon/network/tls.js';
import { createApp, type App } from './app.js';
import { watchFiles } from './config/file-watch.js';
import type { LoadedConfig } from './config/load.js';
import { createPassThrough } from './pass-through/index.js';
import type { RequestReports } from './request-report.js';
import type { Telemetry } from './request-span.js';
import type { ListenSettings } from './settings.js';
import { checkReplacement, logServing, replaceConfig } from './reload.js';
import type { Siblings } from './routing/siblings.js';
import type { OnBudgetEvent } from './store/budget-events.js';
import { openOwned, openShared } from './store/open-store.js';
import { StoreError, type SharedKeyStore, type Store, type WorkerKeyStore } from './store/store.js';
import { createUpstream } from './upstream/send.js';
import type { Upstream } from './upstream/upstream.js';
import { version } from './version.js';
import { loadBudgetAlerts } from './webhooks/load-budget-alerts.js';

/** Options of {@link startProxy}. */
interface ProxyOptions {
  readonly config: LoadedConfig;
  /** Loads the configuration again from the same files. @throws {ConfigError} */
  readonly load: () => Promise<LoadedConfig>;
  readonly log: Log;
  /** How often files are checked for changes, in milliseconds; default 1000. */
  readonly watchIntervalMs?: number;
  /** The group of workers that this process belongs to. Its first process watches the files. Absent: none. */
  readonly group?: ProxyGroup;
}

/** The parts that a worker gets from the first process of its group. */
export interface ProxyGroup {
  readonly siblings: Siblings;
  /** undefined: the configuration has no store, or it is Redis, to which each worker connects. */
  readonly store: WorkerKeyStore | undefined;
}

/** A running service. */
export interface Proxy {
  /** Base URLs that clients may use, such as `http://127.0.0.1:4000`. */
  readonly addresses: readonly string[];
  /**
   * Loads the configuration again. If it has faults, the proxy logs them, and the current
   * configuration stays in use. Requests in progress keep their configuration. Never rejects.
   */
  reload(): Promise<void>;
  /**
   * Checks a new configuration and prepares everything for it, in slices. Changes nothing.
   * @returns a function that uses the configuration from now on.
   * @throws an error if the configuration has a fault.
   */
  prepare(next: LoadedConfig): Promise<() => void>;
  /** Starts the checks of deployments in the background. Without a group, they run from the beginning. */
  startHealthChecks(): void;
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

/**
 * Milliseconds after which a client that reads nothing loses its connection. Meanwhile, its request counts for the
 * limits of its key and of its deployment.
 */
const UNREAD_ANSWER_MS = 600_000;

/** Reports that the service cannot start. The message is one line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Starts the service. It does not contact the upstreams: an upstream that is down does not prevent
 * the start.
 * @throws {StartError} if the address, the TLS files or the store cannot be used.
 */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const opened: Closable[] = [];
  try {
    return await startWith(opened, options);
  } catch (error) {
    await closeAfterFailure(opened, options.log);
    throw error;
  }
}

/** Starts the service. @param opened gets the parts that the caller closes if the start fails. */
async function startWith(
  opened: Closable[],
  { config, load, log, watchIntervalMs, group }: ProxyOptions,
): Promise<Proxy> {
  const { listen, proxy: settings, environment } = config;
  const added = <Part extends Closable | null | undefined>(part: Part): Part => {
    opened.push(part ?? {});
    return part;
  };
  const alerts = added(group?.store === undefined ? await loadBudgetAlerts(listen, log) : null);
  const store = added(group?.store ?? (await openStore(listen, log, alerts?.send)));
  const reports = await loadWebhooks(listen, log);
  const telemetry = await loadTelemetry(listen, log);
  // Reports and telemetry may both wait for a receiver that hangs. Closed one after the other, they could delay the
  // store's last data too long.
  added({ close: async () => void (await Promise.all([reports?.close(), telemetry?.close()])) });
  const upstream = createUpstream({ deployments: settings.deployments, environment, log });
  const running = { config };
  const passThrough = createPassThrough({ upstream });
  const siblings = group?.siblings ?? null;
  const parts = { upstream, log, version, passThrough, store, telemetry, reports, siblings };
  const app = added(createApp({ settings, detailedDebug: listen.detailedDebug, ...parts }));
  // The app closes after its upstream, so that the upstream's last answers still count.
  added(upstream);
  const listener = await open(listen, app, log);
  const modules = app.loadModules().catch((error: unknown) => log.error('loading modules', { error }));
  if (group === undefined) {
    app.startHealthChecks();
    logServing(listener.addresses, config, log);
  }
  const watch = watchFiles({
    // The first process of a group watches the files for all workers.
    files: group === undefined ? config.watchedFiles : [],
    onChange: () => {
      log.info('a file of the configuration has changed');
      void reload();
    },
    ...(watchIntervalMs === undefined ? {} : { intervalMs: watchIntervalMs }),
  });
  let isClosing = false;
  const isClosed = () => isClosing;
  const prepare = async (next: LoadedConfig): Promise<() => void> => {
    const use = await prepareConfig(next, running.config, { listener, upstream, app });
    return () => {
      use();
      running.config = next;
    };
  };
  let last = Promise.resolve();
  // Reloads run one after the other, so that the last reload reads the newest files.
  const reload = () =>
    (last = last.then(() => replaceConfig({ current: () => running.config, load, log, watch, isClosed, prepare })));
  const { addresses } = listener;
  return { addresses, reload, prepare, startHealthChecks: () => app.startHealthChecks(), close: () => close() };

  async function close(): Promise<void> {
    isClosing = true;
    watch.close();
    // Report as not ready first: load balancers may send their checks on open connections.
    app.drain();
    // Continue to listen: load balancers such as HAProxy check on new connections, and send clients until a check
    // fails.
    if (listen.drainDelayMs > 0) await sleep(listen.drainDelayMs);
    const closing = setTimeout(
      () => app.closeWebSockets(),
      listen.drainMs - Math.min(CLOSE_FRAME_MS, listen.drainMs / 2),
    );
    await listener.close(listen.drainMs);
    clearTimeout(closing);
    await modules;
    await closeInReverse(opened);
  }
}

/** Prepares the parts of a running service for another configuration. @returns a function that uses it. */
async function prepareConfig(
  next: LoadedConfig,
  current: LoadedConfig,
  { listener, upstream, app }: { readonly listener: Listener; readonly upstream: Upstream; readonly app: App },
): Promise<() => void> {
  const tls = checkReplacement(next, current);
  const { deployments, environmentDeployment } = next.proxy;
  const onDemand = environmentDeployment === null || environmentDeployment === undefined ? [] : [environmentDeployment];
  const useDeployments = await runInSlices(upstream.prepare(deployments, onDemand));
  const useSettings = await runInSlices(app.prepare(next.proxy));
  return () => {
    if (tls !== null) listener.setTls(tls);
    useDeployments();
    useSettings();
  };
}

/** Loads OpenTelemetry. @returns null: the configuration exports neither traces nor metrics. */
async function loadTelemetry({ telemetry }: ListenSettings, log: Log): Promise<Telemetry | null> {
  if (telemetry === null) return null;
  const { openTelemetry } = await import('./telemetry/open-telemetry.js');
  return openTelemetry(telemetry, log);
}

/** Loads the code that sends reports. @returns null: the configuration has no webhook. */
async function loadWebhooks({ webhooks }: ListenSettings, log: Log): Promise<RequestReports | null> {
  if (webhooks.length === 0) return null;
  const { openWebhooks } = await import('./webhooks/webhooks.js');
  return openWebhooks(webhooks, log);
}

/** Opens the store. @returns undefined: the configuration has none. @throws {StartError} the store cannot be used. */
async function openStore(
  { store }: ListenSettings,
  log: Log,
  onBudgetEvent: OnBudgetEvent | undefined,
): Promise<Store | SharedKeyStore | undefined> {
  if (store === null) return undefined;
  const { place } = store;
  try {
    return await ('url' in place
      ? openShared(place.url, store, log, onBudgetEvent)
      : openOwned(place.folder, store, log, onBudgetEvent));
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, { cause: error.cause });
    throw error;
  }
}

async function open(listen: ListenSettings, app: App, log: Log): Promise<Listener> {
  try {
    const tls =
      listen.tls === null ? {} : { tls: loadTls({ sslCert: listen.tls.certFile, sslKey: listen.tls.keyFile }) };
    return await openListener({
      ip: listen.host,
      port: listen.port,
      ...tls,
      handle: app.handler,
      takesShortcut: app.takesShortcut,
      onClientError: app.clientError,
      onUpgrade: app.upgrade,
      onExpectContinue: app.expectContinue,
      onError: (error) => log.error('accepting a connection failed', { error }),
      unreadAnswerMs: UNREAD_ANSWER_MS,
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
