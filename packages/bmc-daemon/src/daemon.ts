/** Starts, reloads and stops the service: driver, features, Redfish and listener. */
import { isWildcardAddress, ListenError, openListener, type Listener } from '@rackless/daemon/network/listener.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { lockFolder } from '@rackless/daemon/files/folder-lock.js';
import { loadTls, TlsFilesError, type TlsOptions } from '@rackless/daemon/network/tls.js';
import { closeAfterFailure, closeInReverse } from '@rackless/daemon/process/close-all.js';
import type { App } from './app.js';
import type { Environment } from './config/environment.js';
import type { SettingKey, Settings } from './config/settings.js';
import { defaultStateDir } from './config/state-folder.js';
import { createCoreServices } from './core-services.js';
import type { HypervisorDriver } from './drivers/driver.js';
import { resourcesOf } from './features.js';
import { createNameServers } from './host/name-lookup.js';
import type { OpenedDriver } from './hypervisors/driver-context.js';
import type { MachineFile } from './hypervisors/fake-machines/machine-file.js';
import { createDriver } from './hypervisors/index.js';
import { openApp } from './open-app.js';
import { openFeatures, type OpenedFeatures } from './opened-features.js';
import { reloadSettings, tlsFilesOf, type CheckedSettings } from './reload.js';
import { selectFeatures } from './resources/feature-set.js';
import type { Offers } from './resources/services.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { uuidOf } from './service-uuid.js';
import { StartError } from './start-error.js';
import { StateFileError } from './state-file.js';

interface DaemonOptions {
  readonly settings: Settings;
  /** The source of each setting, for messages. */
  readonly origins: Readonly<Record<SettingKey, string>>;
  readonly environment: Environment;
  readonly log: Log;
  /** The contents of EMULATOR_FAKE_MACHINES, if the check of the settings has read them. */
  readonly machineFile?: MachineFile | null;
  /** Reads the configuration again. Default: a reload reads the certificate only. */
  readonly reread?: () => CheckedSettings;
}

/** A running service. */
export interface Daemon {
  /** URLs at which the service listens, such as `http://127.0.0.1:8000`. */
  readonly addresses: readonly string[];
  /** Reads configuration, certificate and key again. Logs faults, and then keeps the old values. */
  reload(): void;
  /**
   * Waits a limited time for running requests, then closes everything. The caller flushes the log.
   * @throws the error of a part that does not close, after the other parts have closed.
   */
  close(): Promise<void>;
}

/**
 * Locks the state folder and starts the service. The start succeeds even if the host does not answer: the
 * service answers 503 until the host does.
 * @throws {StartError} if another daemon uses the folder, or if a setting or a file that it names cannot be
 *   used.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { settings, origins, environment, log } = options;
  const stateDir = settings.stateDir ?? defaultStateDir(environment, process.getuid?.());
  const lock = await lockFolder(stateDir, { setting: 'EMULATOR_STATE_DIR', log }).catch((error: unknown) => {
    throw new StartError(`${origins.stateDir}: ${fileReason(error)}`, { cause: error });
  });
  try {
    const daemon = await startIn(stateDir, options);
    return {
      ...daemon,
      close: async () => {
        try {
          await daemon.close();
        } finally {
          // Unlocks the folder after the close, because the close may still write files.
          await lock.release();
        }
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** The parts that exist only while the service listens. */
interface ListeningState {
  addresses: readonly string[];
  /** Time of the start or of the last reload. */
  lastReset: Date;
  reload: () => void;
  setTls: (tls: TlsOptions) => void;
}

/** The opened parts of the service, before it listens. */
interface Service {
  readonly store: SharedStore | null;
  readonly driver: HypervisorDriver;
  readonly setHosts: OpenedDriver['setHosts'];
  readonly features: OpenedFeatures;
  readonly app: App;
}

/** @throws {StartError} */
async function startIn(stateDir: string, options: DaemonOptions): Promise<Daemon> {
  const { log } = options;
  // Copies the settings and their sources, because a reload changes them.
  const live = { settings: { ...options.settings }, origins: { ...options.origins } };
  const { settings } = live;
  const listening: ListeningState = {
    addresses: [],
    lastReset: new Date(),
    reload: () => undefined,
    setTls: () => undefined,
  };
  const tls = loadFirstTls(options);
  const toStartError = (error: unknown): unknown =>
    error instanceof StoreUnavailable ? startError(options.origins, 'sharedStore', error) : error;
  const store = await openStore(options).catch((error: unknown) => {
    throw toStartError(error);
  });
  const service = await openService({ stateDir, store, tls }, { ...options, ...live }, listening).catch(
    async (error: unknown) => {
      await closeAfterFailure([store ?? {}], log);
      throw toStartError(error);
    },
  );
  const { driver, setHosts, features } = service;
  const listener = await listen(service, { ...options, settings }, tls);
  try {
    listening.addresses = hostAddresses(listener, features.services);
    listening.setTls = (next) => listener.setTls(next);
    listening.reload = () => {
      const { setTls } = listening;
      features.reload(reloadSettings({ live, reread: options.reread, setTls, setHosts, log }));
      listening.lastReset = new Date();
    };
    // Starts the driver only after the port is open. The open port proves that no other daemon with
    // these settings manages the machines.
    await driver.start();
    await features.start({
      addresses: listening.addresses,
      everywhere: isWildcardAddress(settings.listenIp),
      addAddress: (address) => listener.addAddress(address),
    });
  } catch (error) {
    await closeAfterFailure([{ close: () => close(service, listener, 0) }], log);
    throw error;
  }
  for (const address of listening.addresses) log.info(`serving ${driver.name} at ${address}/redfish/v1`);
  return {
    addresses: listening.addresses,
    reload: () => listening.reload(),
    close: () => close(service, listener, settings.shutdownWaitSeconds * 1000),
  };
}

/**
 * Loads the certificate; undefined for plain HTTP.
 * @throws {StartError} if it is unusable: the files have changed since the check of the settings.
 */
function loadFirstTls({ settings, origins }: DaemonOptions): TlsOptions | undefined {
  const files = tlsFilesOf(settings);
  try {
    return files === undefined ? undefined : loadTls(files);
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error;
    throw startError(origins, 'sslCert', error);
  }
}

/** Parts that exist before the service opens. */
interface Opening {
  readonly stateDir: string;
  readonly store: SharedStore | null;
  readonly tls: TlsOptions | undefined;
}

/** Opens the shared store; null if the settings name none. @throws {StoreUnavailable} */
async function openStore({ settings: { sharedStore }, log }: DaemonOptions): Promise<SharedStore | null> {
  return sharedStore === null ? null : openSharedStore(sharedStore, 'bmc-daemon', log);
}

/**
 * Opens the driver, the features and Redfish, without a connection to the host.
 * @param options `settings` are the active settings.
 * @throws {StartError}
 * @throws {StoreUnavailable}
 */
async function openService(
  { stateDir, store, tls }: Opening,
  { settings, origins, environment, log, machineFile = null }: DaemonOptions,
  listening: ListeningState,
): Promise<Service> {
  const nameServers = createNameServers();
  const settingError = (key: SettingKey, sentence: string, cause: unknown) =>
    new StartError(`${origins[key]}: ${sentence}`, { cause });
  const { lookup } = nameServers;
  const context = { settings, environment, store, lookup, log, machineFile, settingError };
  const { driver, setHosts } = await createDriver(context);
  const served = selectFeatures(resourcesOf(driver), settings.featureSet);
  let features: OpenedFeatures | undefined;
  try {
    const serviceUuid = await uuidOf({ stateDir, store }, { settings, log });
    const core = createCoreServices({
      settings,
      origins,
      stateDir,
      serviceUuid,
      store,
      driver,
      controller: listening,
      log,
    });
    const setTls = (next: TlsOptions): void => listening.setTls(next);
    const shared = { settings, origins, stateDir, store, log, nameServers, tls, setTls, resources: served };
    features = await openFeatures(shared, core);
    return { driver, setHosts, store, features, app: openApp(served, features, { settings, origins, log }) };
  } catch (error) {
    await closeAfterFailure([driver, features ?? {}], log);
    if (error instanceof StateFileError) throw startError(origins, 'stateDir', error);
    throw error;
  }
}

/** Opens the listener. If it fails, closes the service. @throws {StartError} */
async function listen(
  service: Service,
  { settings, origins, log }: DaemonOptions,
  tls: TlsOptions | undefined,
): Promise<Listener> {
  const { app, driver, features, store } = service;
  try {
    return await openListener({
      ip: settings.listenIp,
      port: settings.listenPort,
      ...(tls === undefined ? {} : { tls }),
      handle: app.handler,
      onClientError: app.clientError,
      onUpgrade: app.upgrade,
      isUpgradable: app.isWebSocket,
      onPlainHttp: app.redirect,
      onError: (error) => log.error('accepting a connection failed', { error }),
    });
  } catch (error) {
    await closeAfterFailure([store ?? {}, driver, features, { close: () => features.stop() }], log);
    if (!(error instanceof ListenError)) throw error;
    throw startError(origins, error.about === 'port' ? 'listenPort' : 'listenIp', error);
  }
}

/**
 * Closes the service. Running requests need the host, so the driver closes after them. Streams and
 * WebSockets would never end, so they and the features stop at once.
 */
async function close({ driver, features, app, store }: Service, listener: Listener, waitMs: number): Promise<void> {
  app.endWebSockets();
  await Promise.all([listener.close(waitMs), features.stop()]);
  await closeInReverse([{ close: () => app.close() }, store ?? {}, driver, features]);
}

function startError(origins: DaemonOptions['origins'], key: SettingKey, error: Error): StartError {
  return new StartError(`${origins[key]}: ${error.message}`, { cause: error });
}

/** Returns the URLs of the host. Omits addresses of managers that a killed daemon left behind. */
function hostAddresses({ addresses }: Listener, { managerNetwork }: Offers): readonly string[] {
  if (managerNetwork === null) return addresses;
  return addresses.filter((url) => !managerNetwork.isReserved(hostOf(url)));
}

/** Returns the host name or address of a URL, without the brackets of IPv6. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
}
