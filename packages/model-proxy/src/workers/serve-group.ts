/** Runs a group of workers until a signal ends it. */
import type { Log } from '@rackless/daemon/log/log.js';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { handleSignals, type EarlySignals } from '@rackless/daemon/process/signals.js';
import { exitCodeOfStart } from '@rackless/daemon/process/start-failure.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { createNotify, startWatchdog } from '@rackless/daemon/process/systemd-notify.js';
import { loadConfigInBackground, type Flags } from '../config/load.js';
import type { Environment, ListenSettings } from '../settings.js';
import type { OnBudgetEvent } from '../store/budget-events.js';
import { openOwned } from '../store/open-store.js';
import { StoreError, type OwnedStore } from '../store/store.js';
import { loadBudgetAlerts } from '../webhooks/load-budget-alerts.js';
import { createGroup, GroupStartError, type Group, type ConfigWithTexts } from './group.js';
import { recordingReader } from './recording-reader.js';

/** Options of {@link serveGroup}. */
interface ServeOptions {
  /** The parsed command line. */
  readonly options: { readonly file: string | undefined; readonly flags: Flags; readonly environment: Environment };
  readonly loaded: ConfigWithTexts;
  readonly early: EarlySignals | undefined;
  readonly log: Log;
}

/** Serves until SIGTERM or SIGINT. Prints the fault if the group cannot start. @returns the exit code in both cases. */
export async function serveGroup({ options, loaded, early, log }: ServeOptions): Promise<number> {
  const load = async (): Promise<ConfigWithTexts> => {
    const texts = new Map<string, string>();
    const config = await loadConfigInBackground({ ...options, readText: recordingReader(texts) });
    return { config, texts: [...texts] };
  };
  let group: Group;
  const { listen } = loaded.config;
  // If the store is Redis, the workers send the alerts themselves.
  const alerts = hasFileStore(listen) ? await loadBudgetAlerts(listen, log) : null;
  try {
    const store = await openStore(listen, log, alerts?.send);
    group = createGroup({ loaded, file: options.file, flags: options.flags, load, store, log });
    const signals = handleSignalsOfStart(group, log);
    await group.start();
    signals.ignore();
    if (signals.stopped !== undefined) {
      await signals.stopped;
      await alerts?.close();
      log.flush();
      return exitCode.done;
    }
  } catch (error) {
    log.flush();
    if (!(error instanceof GroupStartError) && !(error instanceof StoreError)) throw error;
    printStartReport({ faults: [error.message], warnings: [] });
    return error instanceof StoreError ? exitCodeOfStart(error) : error.exitCode;
  }
  const notify = createNotify({ environment: options.environment, log });
  startWatchdog({ environment: options.environment, notify, pid: process.pid });
  const stopped = handleSignals({ running: group, early, notify, log });
  // READY=1 unblocks other units, so write the log of the start first.
  log.flush();
  await notify('READY=1', `STATUS=serving at ${group.addresses.join(' ')}`);
  await stopped;
  await alerts?.close();
  log.flush();
  return exitCode.done;
}

/**
 * Stops the group at SIGTERM or SIGINT. Workers that start earlier than others already serve clients, so their requests
 * must be completed and counted. At a second signal, the process exits immediately with code 1.
 */
function handleSignalsOfStart(group: Group, log: Log) {
  let stopped: Promise<void> | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    log.info(`${signal}: stopping${stopped === undefined ? '' : ' immediately'}`);
    log.flush();
    if (stopped !== undefined) process.exit(exitCode.failed);
    stopped = group.close();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return {
    /** Resolves when the group has stopped; undefined: there was no signal. */
    get stopped() {
      return stopped;
    },
    ignore(): void {
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
    },
  };
}

const hasFileStore = ({ store }: ListenSettings) => store !== null && !('url' in store.place);

/**
 * Opens the store in files.
 * @returns undefined if there is no store, or if it is Redis, to which each worker connects itself.
 * @throws {StoreError} the folder is in use, or a file cannot be used.
 */
async function openStore(
  { store }: ListenSettings,
  log: Log,
  onBudgetEvent: OnBudgetEvent | undefined,
): Promise<OwnedStore | undefined> {
  if (store === null || 'url' in store.place) return undefined;
  return openOwned(store.place.folder, store, log, onBudgetEvent);
}
