import { setTimeout as sleep } from 'node:timers/promises';
import { clientError, toError } from '../errors.js';
import { type LibvirtUri, type SocketEnvironment, socketCandidates } from '../uri.js';
import { startSessionDaemon } from './session-daemon.js';
import type { OpenTransport, Transport, TransportHandlers } from './transport.js';
import { connectUnix } from './unix.js';

/** Time between attempts while a daemon starts. */
const POLL_MS = 50;

function socketEnvironment(environment: NodeJS.ProcessEnv = process.env): SocketEnvironment {
  return { uid: process.getuid?.() ?? 0, runtimeDir: environment['XDG_RUNTIME_DIR'] };
}

/** Options of {@link openLocal}. The defaults are those of this process. */
interface LocalOptions {
  readonly environment: SocketEnvironment;
  /** Starts the user's daemon. Resolves when the process runs, perhaps before it listens. */
  startDaemon(): Promise<void>;
}

const defaults = (): LocalOptions => ({
  environment: socketEnvironment(),
  startDaemon: () => startSessionDaemon(process.env),
});

/**
 * Returns a function that connects to a daemon on this host. The function tries the unix sockets of
 * the URI in order. If no daemon is running and the URI is for the user's own daemon (`/session`),
 * it starts one. It then tries again every 50 ms until the signal aborts. It rejects with
 * NOT_CONNECTED, whose message lists all sockets and their errors.
 */
export function openLocal(uri: LibvirtUri, options: LocalOptions = defaults()): OpenTransport {
  const { paths, mayStart } = socketCandidates(uri, options.environment);
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
  /** True if no daemon is running: every socket is missing or refuses connections. */
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
      // If a daemon exists but denies access (EACCES), the next socket would be the wrong daemon.
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
