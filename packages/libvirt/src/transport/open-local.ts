import { setTimeout as sleep } from 'node:timers/promises';
import { clientError, toError } from '../errors.js';
import { type LibvirtUri, type SocketEnvironment, socketCandidates } from '../uri.js';
import { startSessionDaemon } from './session-daemon.js';
import { connectUnix } from './socket.js';
import type { OpenTransport, Transport, TransportHandlers } from './transport.js';

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
 * the URI in order. If no daemon is running and the URI is for the user's own daemon (see
 * `mayStartDaemon` in uri.ts), the function starts a daemon. It then tries the sockets every 50 ms,
 * until a daemon accepts the connection, the signal aborts, or a socket fails although it exists and
 * does not refuse connections, for example because access is denied (EACCES). After such a failure,
 * the function tries no other socket.
 *
 * The function rejects with NOT_CONNECTED if no socket accepts the connection; the message lists
 * the sockets that it tried and their errors. It rejects with the abort reason of the signal, or
 * with the error of `startDaemon`.
 */
export function openLocal(uri: LibvirtUri, options: LocalOptions = defaults()): OpenTransport {
  const { paths, mayStartDaemon } = socketCandidates(uri, options.environment);
  return async (handlers, signal) => {
    const firstAttempt = await tryEach(paths, handlers, signal);
    if ('transport' in firstAttempt) return firstAttempt.transport;
    if (!mayStartDaemon || !firstAttempt.noDaemon) throw notConnected(uri, firstAttempt.failures);
    await options.startDaemon();
    for (;;) {
      await sleep(POLL_MS, undefined, { signal }).catch(() => {
        throw toError(signal.reason);
      });
      const attempt = await tryEach(paths, handlers, signal);
      if ('transport' in attempt) return attempt.transport;
      if (!attempt.noDaemon) throw notConnected(uri, attempt.failures);
    }
  };
}

interface Failures {
  readonly failures: readonly Error[];
  /** True if no daemon is running: every socket is missing or refuses connections. */
  readonly noDaemon: boolean;
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
      if (!isAbsent(failure)) return { failures, noDaemon: false };
    }
  }
  return { failures, noDaemon: true };
}

function isAbsent(error: Error): boolean {
  return 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED');
}

function notConnected(uri: LibvirtUri, failures: readonly Error[]): Error {
  return clientError('NOT_CONNECTED', `connecting to ${uri.text}: ${failures.map((each) => each.message).join('; ')}`, {
    cause: failures.length === 1 ? failures[0] : new AggregateError(failures, 'no socket answered'),
  });
}
