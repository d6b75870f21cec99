/**
 * Notifies systemd about the state of the service. Node does not support unix datagram sockets. The
 * module therefore runs the program `systemd-notify`, and the unit needs `NotifyAccess=all`.
 * @see sd_notify(3)
 */
import { execFile } from 'node:child_process';
import type { Log } from '../log/log.js';

/**
 * Function that sends `NAME=value` lines to systemd: `READY=1`, `STOPPING=1`, `WATCHDOG=1` and so
 * on.
 */
export type Notify = (...assignments: readonly string[]) => Promise<void>;

interface NotifyOptions {
  /** Environment of the process. Without `NOTIFY_SOCKET`, notifications do nothing. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Pick<Log, 'warn'>;
}

/** A notification must not delay a stop. */
const TIMEOUT_MS = 2000;

/** Creates the function that notifies systemd. It logs failures and never rejects. */
export function createNotify({ environment, log }: NotifyOptions): Notify {
  const socket = environment['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') return () => Promise.resolve();
  return (...assignments) =>
    new Promise((resolve) => {
      execFile('systemd-notify', [...assignments], { timeout: TIMEOUT_MS }, (error) => {
        if (error !== null) log.warn(`notifying systemd of ${assignments[0] ?? ''}: systemd-notify failed`, { error });
        resolve();
      });
    });
}

/**
 * Returns the lines that announce a reload. systemd requires the start time of the reload, on the
 * monotonic clock.
 */
export function reloading(): readonly string[] {
  return ['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`];
}

interface WatchdogOptions {
  /**
   * Environment of the process: `WATCHDOG_USEC` is the unit's `WatchdogSec=` in microseconds,
   * `WATCHDOG_PID` the process to watch.
   */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly notify: Notify;
  /** Process id of this process. */
  readonly pid: number;
}

/**
 * Starts to notify systemd three times per `WatchdogSec=` that the event loop runs. Without such a
 * notification systemd kills and restarts the process. Does nothing if the unit has no watchdog, or if its
 * watchdog watches another process.
 */
export function startWatchdog({ environment, notify, pid }: WatchdogOptions): void {
  const periodMs = Number(environment['WATCHDOG_USEC']) / 1000;
  const owner = environment['WATCHDOG_PID'];
  if (!(periodMs > 0) || (owner !== undefined && owner !== String(pid))) return;
  setInterval(() => void notify('WATCHDOG=1'), periodMs / 3).unref();
}
