/** What a daemon's process does from its start to its end: what it obeys, and what ends it. */
import type { Log } from './log.js';
import { reloading, type Notify } from './systemd-notify.js';

/** Between two reloads: a script that sends SIGHUP a hundred times a second must not keep a daemon from everything else. */
const RELOAD_REST_MS = 500;

/** What runs. */
export interface Running {
  /** Reads again what may be read again. Says in the log what went wrong: never throws or rejects. */
  reload(): void | Promise<void>;
  /** Lets requests under way end, then lets go of everything. */
  close(): Promise<void>;
}

export interface SignalOptions {
  readonly running: Running;
  readonly notify: Notify;
  readonly log: Log;
}

/**
 * Obeys SIGTERM and SIGINT (end well; the second time, end at once) and SIGHUP (reload), tells systemd, and ends the process with
 * exit code 1 after an error that nobody caught.
 * @returns resolves when everything has ended after SIGTERM or SIGINT. The log is its owner's to flush.
 */
export function obeySignals({ running, notify, log }: SignalOptions): Promise<void> {
  let stopping = false;
  const stopped = new Promise<void>((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      if (stopping) {
        log.warn(`${signal} again: ending at once`);
        log.flush();
        process.exit(1);
      }
      stopping = true;
      log.info(`${signal}: stopping`);
      // Said beside the stop and not before it: systemd's attention is not worth a second.
      void Promise.allSettled([notify('STOPPING=1'), running.close()]).then(([, closed]) => {
        if (closed.status === 'rejected') log.error('stopping', { error: closed.reason });
        resolve();
      });
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
  const reload = joined(async () => {
    if (stopping) return;
    await notify(...reloading());
    await running.reload();
    await notify('READY=1');
  }, RELOAD_REST_MS);
  process.on('SIGHUP', reload);
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      // Nobody knows what state this leaves behind: systemd starts a new process, and what is not this process's is kept.
      log.error('ending after an error that nobody expected', { error });
      log.flush();
      process.exit(1);
    });
  }
  return stopped;
}

/**
 * Acts at once when it is called; calls that come until that is over and the rest after it has passed are one more act, then.
 * @param act never rejects.
 * @param restMs milliseconds.
 */
export function joined(act: () => Promise<void>, restMs: number): () => void {
  let wanted = false;
  let busy = false;
  const run = async () => {
    busy = true;
    while (wanted) {
      wanted = false;
      await act();
      // What is only resting holds no process back that has ended otherwise.
      await new Promise((resolve) => setTimeout(resolve, restMs).unref());
    }
    busy = false;
  };
  return () => {
    wanted = true;
    if (!busy) void run();
  };
}
