/**
 * Tells systemd how the service is. Node has no datagram sockets of the unix kind, so systemd's own `systemd-notify` says it;
 * the unit therefore has NotifyAccess=all.
 * @see sd_notify(3)
 */
import { execFile } from 'node:child_process';
import type { Log } from './log.js';

/** Sends `NAME=value` lines to systemd: `READY=1`, `STOPPING=1`, `RELOADING=1`, `WATCHDOG=1`, `STATUS=…`. */
export type Notify = (...assignments: readonly string[]) => Promise<void>;

export interface NotifyOptions {
  /** `NOTIFY_SOCKET` names whom to tell; without it nobody is told. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Pick<Log, 'warn'>;
}

/** A notification must not hold up a stop. */
const TIMEOUT_MS = 2000;

/** Makes the function that tells systemd. It never rejects: a service that can not say that it runs still runs. */
export function createNotify({ environment, log }: NotifyOptions): Notify {
  const socket = environment['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') return () => Promise.resolve();
  return (...assignments) =>
    new Promise((resolve) => {
      execFile('systemd-notify', [...assignments], { timeout: TIMEOUT_MS }, (error) => {
        if (error !== null) log.warn(`telling systemd ${assignments[0] ?? ''}: systemd-notify failed`, { error });
        resolve();
      });
    });
}

/** The lines that announce a reload: systemd wants the time that it began at, on the clock that both share. */
export function reloading(): readonly string[] {
  return ['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`];
}

export interface WatchdogOptions {
  /** `WATCHDOG_USEC` is the unit's `WatchdogSec=`, in microseconds; `WATCHDOG_PID` the process that it is for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly notify: Notify;
  /** Id of this process. */
  readonly pid: number;
}

/**
 * Reports to systemd, three times in each `WatchdogSec=`, that the event loop turns. After that time without a report systemd kills
 * the process and starts it again. Does nothing where the unit has no watchdog.
 */
export function startWatchdog({ environment, notify, pid }: WatchdogOptions): void {
  const periodMs = Number(environment['WATCHDOG_USEC']) / 1000;
  const owner = environment['WATCHDOG_PID'];
  if (!(periodMs > 0) || (owner !== undefined && owner !== String(pid))) return;
  setInterval(() => void notify('WATCHDOG=1'), periodMs / 3).unref();
}
