/**
 * Tells systemd how the service is. Node has no datagram sockets of the unix kind, so systemd's own `systemd-notify` says it;
 * the unit therefore has NotifyAccess=all.
 * @see sd_notify(3)
 */
import { execFile } from 'node:child_process';
import type { Log } from './log.js';

/** What is said, as `NAME=value` lines: `READY=1`, `STOPPING=1`, `RELOADING=1`, `STATUS=…`. */
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
