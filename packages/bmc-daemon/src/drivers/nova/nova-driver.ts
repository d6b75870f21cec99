/** The driver of OpenStack Nova: the servers of one project of a cloud. */
import { setMaxListeners } from 'node:events';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ConsoleControl } from '../console-control.js';
import { DriverError } from '../driver-error.js';
import { defineDriver, type HypervisorDriver } from '../driver.js';
import type { HypervisorLogs } from '../hypervisor-logs.js';
import { endOf } from '../operation-options.js';
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { CloudSettings } from './cloud/cloud-settings.js';
import { CloudError } from './cloud/cloud-error.js';
import { MAX_ACTIONS } from './compute/action-records.js';
import { createComputeApi, type ComputeApi } from './compute/compute-api.js';
import { novaActions } from './compute/power-plan.js';
import type { ServerFilter } from './compute/server-filter.js';
import { ServerList } from './compute/server-list.js';
import { asDriverError } from './failure.js';
import { createIgnoredLog } from './http/answer-forms.js';
import { RejectedCredentials } from './http/cloud-failure.js';
import { createReadingCache } from './http/reading-cache.js';
import { createSession } from './http/session.js';
import { createInventory } from './inventory/inventory.js';
import { createCloudMedia, type CloudMediaSettings } from './media/cloud-media.js';
import { createRemoteConsoles } from './remote-consoles.js';
import { createLookup } from './server-lookup.js';
import { createReader } from './server-reader.js';
import { createSerialConsoles } from './serial/serial-consoles.js';
import { createServerStatistics } from './server-statistics.js';

/** Options of the driver. */
interface NovaDriverOptions {
  readonly cloud: CloudSettings;
  readonly filter: ServerFilter;
  /** Architecture of servers whose image does not name one, such as `x86_64`. Default: unknown. */
  readonly architecture?: string;
  /** Maximum time of one request to the cloud, with all retries. */
  readonly timeoutMs: number;
  readonly media: CloudMediaSettings;
  readonly log: Log;
}

/** A listing up to this age counts as current for readers. */
const FRESH_MS = 1000;
/**
 * Period of the listings that find changes for events. While there is no client, Nova gets about six requests a
 * minute.
 */
const WATCH_MS = 10_000;

/**
 * Caches the actions of a server, because clients read a log and its entries one after the other.
 */
const ACTION_LIMITS = { max: 100, maxAgeMs: FRESH_MS, failureMs: FRESH_MS };
/** Caches the console output of servers: up to 256 KiB each. */
const OUTPUT_LIMITS = { max: 16, maxAgeMs: FRESH_MS, failureMs: FRESH_MS };

/**
 * Creates the driver. Its start fails with a {@link CloudError} if the cloud rejects the settings. If the cloud
 * does not answer, the start only logs this, and the driver tries again.
 */
export function createNovaDriver({
  cloud,
  filter,
  architecture = '',
  timeoutMs,
  media: mediaSettings,
  log,
}: NovaDriverOptions): HypervisorDriver {
  const session = createSession(cloud, { timeoutMs });
  const ignoredLog = createIgnoredLog(log);
  const api = createComputeApi(session, ignoredLog);
  const list = new ServerList(api, { filter, timeoutMs });
  const consoles = createConsoles(api, list, cloud);
  const statistics = createServerStatistics({ api, list, timeoutMs, log });
  const reader = createReader({ api, list, freshMs: FRESH_MS, onSingleRead: (server) => consoles.probe(server) });
  const inventory = createInventory(session, { architecture, ...consoles.shown });
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);

  const { listSystems, uuidOf, servedUuidOf } = createLookup({ api, list, freshMs: FRESH_MS });
  const media = createCloudMedia({
    ...{ cloud, session, ignoredLog, api, list, uuidOf, log, freshMs: FRESH_MS, closing: closing.signal },
    ...mediaSettings,
  });
  const refresh = createRefresh(list, media, { name: cloud.name, log, closing: closing.signal });
  const watch = createWatch(refresh, { name: cloud.name, log });
  const getSystem: HypervisorDriver['getSystem'] = async (id, shown = [], { maxAgeMs } = {}) => {
    const uuid = await uuidOf(id);
    const reading = await reader.read(uuid, { wantsPorts: shown.includes('interfaces'), maxAgeMs });
    const known = list.find(uuid);
    if (reading === undefined || known === undefined) {
      throw new DriverError('notFound', `looking up server ${id}: no such server`);
    }
    const snapshot = await media.withMedia(reading.snapshot, known.server);
    return await inventory.withDetails(snapshot, known.server, { shown, isSingleRead: reading.isSingleRead });
  };
  return defineDriver({
    name: `nova ${cloud.name}`,
    powerActions: novaActions,
    start: async () => {
      try {
        await list.refresh(0);
        void media.completeUnfinished();
      } catch (error) {
        if (error instanceof CloudError) throw error;
        if (error instanceof RejectedCredentials) throw new CloudError([error.message], { cause: error });
        watch.failed(error);
      }
      watch.start();
    },
    close: async () => {
      watch.stop();
      closing.abort(new DriverError('unavailable', 'the service is shutting down'));
      // Closing the media deletes partial images, so it must happen before the session closes.
      await media.close();
      session.close();
    },
    ping: () => toDriverErrors(list.refresh(FRESH_MS)),
    onChange: (listener) => list.onChange(listener),
    listSystems: () => toDriverErrors(listSystems()),
    console: createConsoleControl(consoles.serial, uuidOf),
    graphicalConsole: { open: (id) => toDriverErrors(servedUuidOf(id).then((uuid) => consoles.graphical.open(uuid))) },
    logs: createLogs(api, servedUuidOf),
    statistics: { of: (id) => toDriverErrors(servedUuidOf(id).then((uuid) => statistics.of(uuid))) },
    getSystem: (id, shown, options) => toDriverErrors(getSystem(id, shown, options)),
    power: (id, action, options) =>
      toDriverErrors(
        session.silence.guard((silent) =>
          media.power(id, action, { ...options, signal: endOf(options?.signal, silent) }),
        ),
      ),
    changeable: media.changeable,
    change: (id, change) => toDriverErrors(media.change(id, change)),
    media: {
      insert: (id, device, image, options) => toDriverErrors(media.media.insert(id, device, image, options)),
      eject: (id, device, options) => toDriverErrors(media.media.eject(id, device, options)),
      set: (id, device, change) => toDriverErrors(media.media.set(id, device, change)),
    },
  });
}

/** Creates the graphical and the serial consoles of a cloud. */
function createConsoles(api: ComputeApi, list: ServerList, { tls }: CloudSettings) {
  const graphical = createRemoteConsoles(api);
  // An old reading could show a server as running whose console has just closed, so each request reads the
  // server again.
  const reader = createReader({ api, list, freshMs: 0 });
  const stateOf = async (uuid: string) => (await reader.read(uuid))?.snapshot.state;
  const serial = createSerialConsoles({ api, list, stateOf, tls });
  return {
    graphical,
    serial,
    probe: (server: SystemSnapshot): void => {
      graphical.probe(server);
      serial.probe(server);
    },
    shown: {
      hasGraphicalConsole: () => graphical.areAvailable,
      hasConsole: (uuid: string) => serial.isAvailable(uuid),
    },
  };
}

/** Returns the control of serial consoles. */
function createConsoleControl(
  serial: Pick<ConsoleControl, 'open'>,
  uuidOf: (id: string) => Promise<string>,
): ConsoleControl {
  const reject = async (id: string, what: string): Promise<never> => {
    throw new DriverError('unsupported', `${what} of server ${await uuidOf(id)}: Nova cannot do this`);
  };
  return {
    open: (id, options) => toDriverErrors(uuidOf(id).then((uuid) => serial.open(uuid, options))),
    sendBreak: (id) => toDriverErrors(reject(id, 'sending a break to the console')),
    // Only recordings of the daemon need the id. Nova itself records the output.
    instance: (id) => toDriverErrors(reject(id, 'reading the instance id')),
    acceptsSecondClient: true,
  };
}

/** Reads the logs that Nova keeps. @param servedUuidOf returns the UUID of a served server. */
function createLogs(api: ComputeApi, servedUuidOf: (id: string) => Promise<string>): HypervisorLogs {
  const actions = createReadingCache((id) => api.listActions(id), ACTION_LIMITS);
  const outputs = createReadingCache((id) => api.consoleOutput(id), OUTPUT_LIMITS);
  return {
    maxActions: MAX_ACTIONS,
    consoleOutput: (id) => toDriverErrors(servedUuidOf(id).then((uuid) => outputs.read(uuid))),
    actions: (id) => toDriverErrors(servedUuidOf(id).then((uuid) => actions.read(uuid))),
  };
}

async function toDriverErrors<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw asDriverError(error);
  }
}

/**
 * Returns a function that lists the changes. After that, the function begins further work. It does not wait for
 * this work, so that the work does not delay events.
 */
function createRefresh(
  list: ServerList,
  media: { completeUnfinished(): Promise<void> },
  options: Parameters<typeof createFullListing>[1],
): () => Promise<void> {
  const listAll = createFullListing(list, options);
  return async () => {
    await list.refresh(FRESH_MS);
    void listAll();
    // Completes operations of killed daemons.
    void media.completeUnfinished();
  };
}

/** Returns a function that lists all servers if that is due. It never rejects, and logs a failure with a new reason. */
function createFullListing(
  list: ServerList,
  { name, log, closing }: { readonly name: string; readonly log: Log; readonly closing: AbortSignal },
): () => Promise<void> {
  let lastFailure: string | undefined;
  return async () => {
    try {
      await list.listAllIfDue();
      lastFailure = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const isNew = !closing.aborted && reason !== lastFailure;
      if (isNew)
        log.warn(`cloud ${name} does not list all servers, so changes of tags and metadata are missing`, { error });
      lastFailure = reason;
    }
  };
}

/**
 * Lists the servers regularly, and logs when the cloud stops answering and when it answers again.
 */
function createWatch(
  refresh: () => Promise<void>,
  { name, log }: { readonly name: string; readonly log: Log },
): { start(): void; stop(): void; failed(error: unknown): void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let lastFailure: string | undefined;
  const failed = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    if (!isStopped && reason !== lastFailure) log.warn(`cloud ${name} does not answer`, { error });
    lastFailure = reason;
  };
  const step = async (): Promise<void> => {
    try {
      await refresh();
      if (lastFailure !== undefined) log.info(`cloud ${name} answers again`);
      lastFailure = undefined;
    } catch (error) {
      failed(error);
    }
    if (!isStopped) start();
  };
  const start = (): void => {
    timer = setTimeout(() => void step(), WATCH_MS).unref();
  };
  return {
    start,
    failed,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
