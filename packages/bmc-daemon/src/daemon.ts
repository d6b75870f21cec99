/** The running service: everything that the settings say, put together. */
import { setImmediate } from 'node:timers/promises';
import { isWildcardAddress, ListenError, openListener, type Listener } from '@rackless/daemon/listener.js';
import type { Log } from '@rackless/daemon/log.js';
import { coalesce } from '@rackless/daemon/signals.js';
import { fileReason } from '@rackless/daemon/text-file.js';
import { loadTls, TlsFilesError, type TlsOptions } from '@rackless/daemon/tls.js';
import { createApp, type App } from './app.js';
import { openAccess, type Access } from './auth/access.js';
import { openAccessState } from './auth/access-state.js';
import { PasswordFileError } from './password-file/password-file.js';
import type { Environment } from './config/environment.js';
import type { SettingKey, Settings } from './config/settings.js';
import { defaultStateDir } from './config/state-folder.js';
import { createDriver } from './hypervisors/index.js';
import { openConsoleServices, type ConsoleServices } from './console-services.js';
import { openConsoleSsh, withConsoles } from './console-ssh.js';
import type { SshServer } from './console/ssh-server.js';
import type { HypervisorDriver } from './drivers/driver.js';
import { openEventServices, type EventServices } from './event-services.js';
import { createEventBus } from './events/event-bus.js';
import { publishWrites } from './events/published-writes.js';
import { readHostNetwork } from './host/host-network.js';
import { machineScoping } from './machine-scope.js';
import { openManagerNetwork, type ManagerNetworkService } from './manager-network-service.js';
import { createNameServers } from './host/name-lookup.js';
import { createTaskStore } from './redfish/tasks/task-store.js';
import { reloadSettings, tlsFilesOf, type Reread } from './reload.js';
import type { ManagementController } from './resources/managers/management-controller.js';
import { currentUri } from './resources/current-uri.js';
import { selectFeatures } from './resources/feature-set.js';
import { openIndicatorStore } from './resources/chassis/indicator-store.js';
import { resourcesOf, streams, type Services } from './resources/index.js';
import { serviceUuid } from './service-uuid.js';
import { openDiscovery } from './ssdp/discovery.js';
import { StartError } from './start-error.js';
import { StateFileError } from './state-file.js';
import { lockFolder } from './state-lock.js';
import { openTelemetry } from './telemetry/telemetry.js';
import { openTlsCertificate } from './tls-certificate.js';
import { version } from './version.js';

export interface DaemonOptions {
  readonly settings: Settings;
  /** Where each setting comes from, for messages. */
  readonly origins: Readonly<Record<SettingKey, string>>;
  readonly environment: Environment;
  readonly log: Log;
  /** Reads the configuration again, from where it came. Default: it stays as it is. */
  readonly reread?: () => Reread;
}

/** A running service. */
export interface Daemon {
  /** `http://127.0.0.1:8000`, one for each address that clients may use. */
  readonly addresses: readonly string[];
  /** Reads configuration, certificate and key again; where they can not be used the log says why and the old ones stay. */
  reload(): void;
  /** Lets requests under way end, then lets go of the host. The log is its owner's to flush. */
  close(): Promise<void>;
}

/** Finished tasks that are remembered. */
const TASKS_KEPT = 100;
/** Between two resets of managers. */
const RELOAD_REST_MS = 500;

/**
 * Starts the service, as the only one of its state folder. A host that does not answer does not stop the start: the service answers
 * 503 until the host does.
 * @throws {StartError}
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { settings, origins, environment, log } = options;
  const stateDir = settings.stateDir ?? defaultStateDir(environment, process.getuid?.());
  const lock = await lockFolder(stateDir, { log }).catch((error: unknown) => {
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
          // Last: until then it may write its files.
          await lock.release();
        }
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** @throws {StartError} */
async function startIn(stateDir: string, options: DaemonOptions): Promise<Daemon> {
  const { origins, log } = options;
  // Ours: a reload changes it.
  const settings = { ...options.settings };
  const at = (key: SettingKey, sentence: string, cause: unknown) =>
    new StartError(`${origins[key]}: ${sentence}`, { cause });
  const tlsFiles = tlsFilesOf(settings);
  let tls;
  let access: Access;
  try {
    tls = tlsFiles === undefined ? undefined : loadTls(tlsFiles);
    access = openAccess({ authFile: settings.authFile, state: openAccessState(stateDir, log), log });
  } catch (error) {
    // The files were looked at a moment ago, but they are not ours: they may have changed since.
    if (error instanceof TlsFilesError) throw at('sslCert', error.message, error);
    if (error instanceof PasswordFileError) throw at('authFile', error.message, error);
    if (error instanceof StateFileError) throw at('stateDir', error.message, error);
    throw error;
  }

  const nameServers = createNameServers();
  const driver = createDriver({ settings, lookup: nameServers.lookup, log, at });
  const served = selectFeatures(resourcesOf(driver), settings.featureSet);
  const present = {
    addresses: [] as readonly string[],
    lastReset: new Date(),
    reload: (): void => undefined,
    setTls: undefined as ((tls: TlsOptions) => void) | undefined,
  };
  let core: Core;
  let network: ManagerNetworkService;
  let events: EventServices;
  try {
    const base = createCore(settings, stateDir, access, driver, log);
    const setTls = (next: TlsOptions): void => present.setTls?.(next);
    const { serviceUuid: uuid, now } = base;
    const serverCertificate = openTlsCertificate({ tls, settings, setTls, stateDir, serviceUuid: uuid, now, log });
    const discovery = openDiscovery({ configured: settings.ssdp, stateDir, serviceUuid: uuid, log });
    const hostNetwork = () => readHostNetwork({ addresses: present.addresses });
    network = openManagerNetwork({ driver, hostNetwork, nameServers, stateDir, serviceUuid: uuid, log });
    const managerNetwork = network.network;
    const telemetry = openTelemetry({ driver, stateDir, serviceUuid: uuid, now, log });
    core = { ...base, serverCertificate, discovery, telemetry, managerNetwork, controller: createController(present) };
    events = openEventServices({
      bus: core.events,
      driver,
      access,
      tasks: core.operations.tasks,
      reports: core.telemetry,
      resources: served,
      stateDir,
      serviceUuid: core.serviceUuid,
      lookup: nameServers.lookup,
      log,
    });
  } catch (error) {
    if (error instanceof StateFileError) throw at('stateDir', error.message, error);
    throw error;
  }
  const consoles = openConsoleServices({
    driver,
    // What can not be read need not be kept.
    isLogged: settings.consoleLog && settings.featureSet === 'full',
    stateDir,
    serviceUuid: core.serviceUuid,
    log,
  });
  const { subscriptions, logs, resourceTypes } = events;
  const giveBack = async (): Promise<void> => {
    await events.close();
    await consoles.close();
    await network.close();
    await driver.close();
  };
  const machineAt = (address: string) => network.network.machineAt(address);
  let ssh: SshServer | null;
  try {
    // Before the first request: what the machines tell of their consoles is true from then on.
    ssh = await openConsoleSsh({ settings, hub: consoles.hub, access, driver, machineAt, stateDir, log });
  } catch (error) {
    await giveBack();
    if (error instanceof StateFileError) throw at('stateDir', error.message, error);
    if (!(error instanceof ListenError)) throw error;
    throw at(error.about === 'port' ? 'consoleSshPort' : 'listenIp', error.message, error);
  }
  const services: Services = {
    ...core,
    subscriptions,
    logs,
    resourceTypes,
    consoleSsh: ssh,
    consoleLogs: consoles.logs,
  };
  const app = createApp<Services>({
    resources: served,
    // Where the service of events is not served, nor is its stream.
    streams: streams.filter(({ entity }) => served.some((resource) => resource.entity === entity)),
    services,
    scoping: machineScoping(services, network.network.scopeOf),
    onChange: publishWrites(core.events, (id) => access.sessions.find(id)?.user),
    authenticate: access.authenticate,
    strict: settings.dmtfStrict,
    currentUri: (uri) => currentUri(uri, settings),
    log,
    driver,
    version,
  });
  let listener: Listener;
  try {
    listener = await openListener({
      ip: settings.listenIp,
      port: settings.listenPort,
      ...(tls === undefined ? {} : { tls }),
      handle: app.handler,
      onClientError: app.clientError,
      onPlainHttp: app.redirect,
      onError: (error) => log.error('accepting a connection', { error }),
    });
  } catch (error) {
    await ssh?.close();
    await giveBack();
    if (!(error instanceof ListenError)) throw error;
    throw at(error.about === 'port' ? 'listenPort' : 'listenIp', error.message, error);
  }
  // What a service that was killed has left of its managers' addresses is none of the host's.
  present.addresses = listener.addresses.filter((url) => !network.isKept(url));
  present.setTls = (next) => listener.setTls(next);
  const takeTls = (next: TlsOptions): void => {
    listener.setTls(next);
    core.serverCertificate?.taken(next);
  };
  present.reload = () => {
    reloadSettings({ live: settings, reread: options.reread, setTls: takeTls, log });
    present.lastReset = new Date();
  };
  // After the port is ours: a second daemon that is started by mistake must not touch the host's machines.
  await driver.start();
  consoles.start();
  void tidyLogs(driver, logs);
  await network.start(withConsoles(listener, ssh, log));
  await core.discovery.start({ addresses: present.addresses, everywhere: isWildcardAddress(settings.listenIp) });
  for (const address of present.addresses) log.info(`serving ${driver.name} at ${address}/redfish/v1`);

  return {
    addresses: present.addresses,
    reload: () => present.reload(),
    close: async () => {
      await core.discovery.close();
      core.telemetry?.close();
      await ssh?.close();
      await close(listener, events, consoles, driver, app, settings.shutdownWaitSeconds * 1000);
      // Last: clients are answered at these addresses until then.
      await network.close();
    },
  };
}

/** @param present what holds now. */
function createController(present: {
  readonly addresses: readonly string[];
  readonly lastReset: Date;
  readonly reload: () => void;
}): ManagementController {
  // One after the other, and once for all that come meanwhile: clients reset the managers of all their machines at a time.
  const reset = coalesce(async () => {
    // After the answer.
    await setImmediate();
    present.reload();
  }, RELOAD_REST_MS);
  return {
    get addresses() {
      return present.addresses;
    },
    get lastReset() {
      return present.lastReset;
    },
    reset,
  };
}

/** What stands on no event. */
type Core = Omit<Services, 'subscriptions' | 'logs' | 'resourceTypes' | 'consoleLogs' | 'consoleSsh'>;

function createCore(
  settings: Settings,
  stateDir: string,
  access: Access,
  driver: HypervisorDriver,
  log: Log,
): Omit<Core, 'controller' | 'managerNetwork' | 'serverCertificate' | 'discovery' | 'telemetry'> {
  const now = () => new Date();
  return {
    driver,
    serviceUuid: serviceUuid({
      service: `${settings.fakeDriver ? 'fake' : settings.libvirtUri} ${settings.listenPort}`,
      stateDir,
      log,
    }),
    now,
    log,
    operations: {
      tasks: createTaskStore({ limit: TASKS_KEPT, now }),
      get waitMs() {
        return settings.taskAfterSeconds * 1000;
      },
      onTaskFailed: (failure, name) => log.warn(`task failed: ${name}`, { error: failure }),
    },
    events: createEventBus((error) => log.error('a listener to events failed', { error })),
    access,
    indicators: openIndicatorStore(stateDir, log),
    settings,
  };
}

/** Machines may have gone while no daemon was there to see it. */
async function tidyLogs(driver: HypervisorDriver, logs: EventServices['logs']): Promise<void> {
  try {
    await logs.retain(new Set((await driver.listSystems()).map(({ uuid }) => uuid)));
  } catch {
    // A host that is not there yet says nothing of its machines, a full disk keeps what is to go; the next start tries again.
  }
}

/** Requests first: what is under way needs the host. Streams of events are requests that never end by themselves. */
async function close(
  listener: Listener,
  events: EventServices,
  consoles: ConsoleServices,
  driver: HypervisorDriver,
  app: App,
  waitMs: number,
): Promise<void> {
  const closing = listener.close(waitMs);
  events.subscriptions.closeStreams();
  await closing;
  await events.close();
  await consoles.close();
  await driver.close();
  app.close();
}
