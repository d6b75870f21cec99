/** The running service: everything that a configuration says, put together, until it is told to end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ListenError, openListener, type Listener } from '@rackless/daemon/listener.js';
import type { Log } from '@rackless/daemon/log.js';
import { loadTls, TlsFilesError } from '@rackless/daemon/tls.js';
import { createApp, type App } from './app.js';
import { watchFiles, type FileWatch } from './config/file-watch.js';
import { ConfigError, type LoadedConfig } from './config/load.js';
import { createPassThrough } from './pass-through/index.js';
import type { ListenSettings } from './settings.js';
import { createUpstream } from './upstream/send.js';
import type { Upstream } from './upstream/upstream.js';
import { version } from './version.js';

export interface ProxyOptions {
  readonly config: LoadedConfig;
  /** Loads the configuration again, from the same places. @throws {ConfigError} */
  readonly load: () => LoadedConfig;
  readonly log: Log;
  /** How often files are looked at, in milliseconds. Default: once a second. */
  readonly watchIntervalMs?: number;
}

/** A running service. */
export interface Proxy {
  /** `http://127.0.0.1:4000`, one for each address that clients may use. */
  readonly addresses: readonly string[];
  /** Loads the configuration again; where it can not be used the log says why and the old one stays. Requests notice nothing. */
  reload(): void;
  /** Lets load balancers notice, then requests under way end, for as long as the settings say, then cuts them off. The log is its owner's to flush. */
  close(): Promise<void>;
}

/** How long before they are cut WebSockets are told so, at most; in milliseconds. */
const GOODBYE_MS = 1000;

/** The service can not start; the message is one line for the person who started it. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Starts the service. Upstreams are not asked: those that do not answer are no reason not to start.
 * @throws {StartError}
 */
export async function startProxy({ config, load, log, watchIntervalMs }: ProxyOptions): Promise<Proxy> {
  const { listen, proxy: settings, environment } = config;
  const upstream = createUpstream({ deployments: settings.deployments, environment, log });
  const running = { config };
  const passThrough = createPassThrough({ upstream });
  const app = createApp({ settings, upstream, log, version, detailedDebug: listen.detailedDebug, passThrough });
  let listener: Listener;
  try {
    listener = await open(listen, app, log);
  } catch (error) {
    app.close();
    await upstream.close();
    throw error;
  }
  const models = modelNames(config);
  for (const address of listener.addresses) log.info(`serving at ${address}/v1`, { models });

  const watch = watchFiles({
    files: config.watchedFiles,
    onChange: () => {
      log.info('a file of the configuration has changed');
      reload();
    },
    ...(watchIntervalMs === undefined ? {} : { intervalMs: watchIntervalMs }),
  });
  const reload = () => replaceConfig({ running, load, log, listener, upstream, app, watch });
  return { addresses: listener.addresses, reload, close: () => close() };

  async function close(): Promise<void> {
    watch.close();
    // Readiness first: whoever balances load between proxies asks on connections that are open.
    app.drain();
    // Those that ask on a new connection, as HAProxy's checks do, would find nobody listening, and clients until they have asked.
    if (listen.drainDelayMs > 0) await sleep(listen.drainDelayMs);
    const goodbye = setTimeout(() => app.sayGoodbye(), listen.drainMs - Math.min(GOODBYE_MS, listen.drainMs / 2));
    await listener.close(listen.drainMs);
    clearTimeout(goodbye);
    await upstream.close();
    app.close();
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
      onError: (error) => log.error('accepting a connection', { error }),
      // A large prompt over a thin line takes its time.
      server: { requestTimeout: 0 },
    });
  } catch (error) {
    // The files were looked at a moment ago, but they are not ours: they may have changed since.
    if (error instanceof ListenError || error instanceof TlsFilesError)
      throw new StartError(error.message, { cause: error });
    throw error;
  }
}

interface Replacing {
  readonly running: { config: LoadedConfig };
  readonly load: () => LoadedConfig;
  readonly log: Log;
  readonly listener: Listener;
  readonly upstream: Upstream;
  readonly app: App;
  readonly watch: FileWatch;
}

/** A start may wait for its models; a reload must not take away those that are served. */
const NO_MODEL_LEFT = 'no entry of model_list can be served';

/** All or nothing: what is wrong with the new configuration changes nothing. */
function replaceConfig({ running, load, log, listener, upstream, app, watch }: Replacing): void {
  // What is written while the files are read is a change again.
  watch.mark();
  let next: LoadedConfig;
  try {
    next = load();
    if (next.proxy.deployments.length === 0 && running.config.proxy.deployments.length > 0)
      throw new ConfigError([...next.warnings, NO_MODEL_LEFT], [], next.watchedFiles);
    if (next.listen.tls !== null)
      listener.setTls(loadTls({ sslCert: next.listen.tls.certFile, sslKey: next.listen.tls.keyFile }));
  } catch (error) {
    // Whatever it is, it is no reason to end what works.
    if (error instanceof ConfigError) for (const fault of error.faults) log.error(`reloading: ${fault}`);
    else log.error('reloading', { error });
    log.error('reloading: the configuration can not be used, the old one stays');
    // A file that is named only by the broken one may be what is to be mended.
    const mending = error instanceof ConfigError ? error.watchedFiles : [];
    watch.replace([...new Set([...running.config.watchedFiles, ...mending])]);
    return;
  }
  for (const warning of next.warnings) if (!running.config.warnings.includes(warning)) log.warn(warning);
  upstream.reload(next.proxy.deployments);
  app.replaceSettings(next.proxy);
  running.config = next;
  watch.replace(next.watchedFiles);
  log.info('configuration reloaded', { models: modelNames(next) });
}
