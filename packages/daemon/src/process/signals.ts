/** Signals and unexpected errors of a daemon process. */
import type { Log } from '../log/log.js';
import { reloading, type Notify } from './systemd-notify.js';

/**
 * Minimum pause between two reloads. A script that sends many SIGHUPs must not block other work.
 */
const RELOAD_PAUSE_MS = 500;

/** A running daemon. */
interface Running {
  /** Reloads the configuration. Logs its errors, so it never throws or rejects. */
  reload(): void | Promise<void>;
  /** Waits for running requests, then releases all resources. */
  close(): Promise<void>;
}

/** The signals that arrived before {@link handleSignals} was called. */
export interface EarlySignals {
  /** Whether a SIGHUP arrived. */
  readonly wantsReload: boolean;
}

/** The stop of a daemon. */
export interface Stop {
  /** Whether SIGTERM or SIGINT has arrived. */
  readonly hasBegun: boolean;
  /** Resolves when the daemon has stopped, also if the stop failed. The caller flushes the log. */
  readonly ended: Promise<void>;
}

/**
 * Stops the daemon at SIGTERM or SIGINT, and notifies systemd. At a second signal, the process exits immediately with
 * code 1. Also exits with code 1 after an uncaught error. systemd then starts a new process.
 */
export function stopAtSignals(
  running: Pick<Running, 'close'>,
  { notify, log }: { readonly notify: Notify; readonly log: Log },
): Stop {
  let hasBegun = false;
  const ended = new Promise<void>((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      if (hasBegun) {
        log.warn(`${signal} again: exiting immediately`);
        log.flush();
        process.exit(1);
      }
      hasBegun = true;
      log.info(`${signal}: stopping`);
      // Notifies systemd and stops at the same time, because the stop must not wait for systemd.
      void Promise.allSettled([notify('STOPPING=1'), running.close()]).then(([, closed]) => {
        if (closed.status === 'rejected') log.error('stopping failed', { error: closed.reason });
        resolve();
      });
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
  exitOnUnexpectedErrors(log);
  return {
    ended,
    get hasBegun() {
      return hasBegun;
    },
  };
}

interface SignalOptions {
  readonly running: Running;
  /** Absent: no signal arrived. */
  readonly early?: EarlySignals | undefined;
  readonly notify: Notify;
  readonly log: Log;
  /** Default: {@link stopAtSignals} from now on. */
  readonly stop?: Stop;
}

/**
 * Handles the signals of a running daemon:
 * - SIGTERM, SIGINT: as {@link stopAtSignals}.
 * - SIGHUP: reload. A SIGHUP during the start causes a reload now, because the start may have read older files.
 * @returns {@link Stop.ended}.
 */
export function handleSignals({
  running,
  early,
  notify,
  log,
  stop = stopAtSignals(running, { notify, log }),
}: SignalOptions): Promise<void> {
  const reload = coalesce(async () => {
    if (stop.hasBegun) return;
    await notify(...reloading());
    await running.reload();
    await notify('READY=1');
  }, RELOAD_PAUSE_MS);
  process.on('SIGHUP', reload);
  if (early?.wantsReload === true) reload();
  return stop.ended;
}

/** Exits with code 1 after an uncaught error, because the state of the process may be inconsistent. */
export function exitOnUnexpectedErrors(log: Log): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.error('exiting after an unexpected error', { error });
      log.flush();
      process.exit(1);
    });
  }
}

/**
 * Returns a function that runs `act` immediately. All calls during that run, and during the pause
 * after it, cause one more run after the pause.
 * @param act must not reject.
 * @param pauseMs milliseconds.
 */
export function coalesce(act: () => Promise<void>, pauseMs: number): () => void {
  let wanted = false;
  let busy = false;
  const run = async () => {
    busy = true;
    while (wanted) {
      wanted = false;
      await act();
      // The pause must not delay the exit of the process.
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    }
    busy = false;
  };
  return () => {
    wanted = true;
    if (!busy) void run();
  };
}
