/** Runs a group of workers until a signal ends it. */
import type { Log } from '@rackless/daemon/log/log.js';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { handleSignals, stopAtSignals, type EarlySignals, type Stop } from '@rackless/daemon/process/signals.js';
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
  const notify = createNotify({ environment: options.environment, log });
  let group: Group;
  let stop: Stop;
  const { listen } = loaded.config;
  // If the store is Redis, the workers send the alerts themselves.
  const alerts = hasFileStore(listen) ? await loadBudgetAlerts(listen, log) : null;
  try {
    const store = await openStore(listen, log, alerts?.send);
    group = createGroup({ loaded, file: options.file, flags: options.flags, load, store, log });
    // The first workers serve clients before the last ones have started. A stop must complete and count their requests.
    stop = stopAtSignals(group, { notify, log });
    await group.start();
  } catch (error) {
    log.flush();
    if (!(error instanceof GroupStartError) && !(error instanceof StoreError)) throw error;
    printStartReport({ faults: [error.message], warnings: [] });
    return error instanceof StoreError ? exitCodeOfStart(error) : error.exitCode;
  }
  if (!stop.hasBegun) {
    startWatchdog({ environment: options.environment, notify, pid: process.pid });
    void handleSignals({ running: group, early, notify, log, stop });
    // READY=1 unblocks other units, so write the log of the start first.
    log.flush();
    await notify('READY=1', `STATUS=serving at ${group.addresses.join(' ')}`);
  }
  await stop.ended;
  await alerts?.close();
  log.flush();
  return exitCode.done;
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
