import { setTimeout as sleep } from 'node:timers/promises';
import { clientError, toError } from '../errors.js';
import { type LibvirtUri, type SocketPlaces, socketCandidates } from '../uri.js';
import { startSessionDaemon } from './session-daemon.js';
import type { OpenTransport, Transport, TransportHandlers } from './transport.js';
import { connectUnix } from './unix.js';

const POLL_MS = 50;

/** Where this process's daemons have their sockets. */
export function placesOfProcess(environment: NodeJS.ProcessEnv = process.env): SocketPlaces {
  return { uid: process.getuid?.() ?? 0, runtimeDir: environment['XDG_RUNTIME_DIR'] };
}

/** What `openLocal` needs from its surroundings. */
export interface LocalOptions {
  readonly places: SocketPlaces;
  /** Starts the user's daemon; resolves when its process runs, before it listens. */
  startDaemon(): Promise<void>;
}

const here = (): LocalOptions => ({ places: placesOfProcess(), startDaemon: () => startSessionDaemon(process.env) });

/**
 * The way to a daemon on this host: the URI's unix sockets in turn; for `/session` it starts the daemon when there is none,
 * and waits for it until the signal is aborted.
 * @throws {LibvirtError} NOT_CONNECTED with every socket that was tried and why it did not do.
 */
export function openLocal(uri: LibvirtUri, options: LocalOptions = here()): OpenTransport {
  const { paths, mayStart } = socketCandidates(uri, options.places);
  return async (handlers, signal) => {
    const first = await tryEach(paths, handlers, signal);
    if ('transport' in first) return first.transport;
    if (!mayStart || !first.absent) throw notConnected(uri, first.failures);
    await options.startDaemon();
    for (;;) {
      await sleep(POLL_MS, undefined, { signal }).catch(() => {
        throw toError(signal.reason);
      });
      const again = await tryEach(paths, handlers, signal);
      if ('transport' in again) return again.transport;
      if (!again.absent) throw notConnected(uri, again.failures);
    }
  };
}

interface Failures {
  readonly failures: readonly Error[];
  /** Every socket is missing or has nobody listening: no daemon runs. */
  readonly absent: boolean;
}

async function tryEach(
  paths: readonly string[],
  handlers: TransportHandlers,
  signal: AbortSignal,
): Promise<{ readonly transport: Transport } | Failures> {
  const failures: Error[] = [];
  for (const path of paths) {
    try {
      return { transport: await connectUnix(path, handlers, signal) };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = toError(error);
      failures.push(failure);
      // A daemon that is there but refuses us (EACCES) is the answer; another daemon would be the wrong one.
      if (!isAbsent(failure)) return { failures, absent: false };
    }
  }
  return { failures, absent: true };
}

function isAbsent(error: Error): boolean {
  return 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED');
}

function notConnected(uri: LibvirtUri, failures: readonly Error[]): Error {
  return clientError('NOT_CONNECTED', `connecting to ${uri.text}: ${failures.map((each) => each.message).join('; ')}`, {
    cause: failures.length === 1 ? failures[0] : new AggregateError(failures, 'no socket answered'),
  });
}
