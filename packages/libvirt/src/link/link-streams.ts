import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import type { CallOptions } from '../caller.js';
import type { Connection } from '../connection.js';
import { clientError, type LibvirtError, toError } from '../errors.js';
import type { Procedure } from '../protocol/procedure.js';
import type { LibvirtStream } from '../stream.js';

/** All streams of a link. Each stream has its own connection. */
export class LinkStreams {
  /** One controller for each open stream and each opening. Its abort reason ends the stream. */
  readonly #aborts = new Set<AbortController>();
  /** For each open connection, a promise that resolves when the connection has ended. */
  readonly #connections = new Map<Connection, Promise<void>>();
  #closed: LibvirtError | null = null;

  constructor(private readonly clock: Clock) {}

  /**
   * Opens a stream. `signal` aborts the opening and also the open stream.
   * @param connect opens a connection and makes the handshake, unless its signal aborts.
   * @throws {LibvirtError} CALL_TIMEOUT if the stream is not open after `timeoutMs`, CALL_ABORTED,
   *   LINK_CLOSED, NOT_CONNECTED, CONNECTION_LOST, or the error of libvirtd.
   */
  async open<A, R>(
    procedure: Procedure<A, R>,
    args: A,
    { signal, timeoutMs }: CallOptions & { readonly timeoutMs: number },
    connect: (signal: AbortSignal) => Promise<Connection>,
  ): Promise<LibvirtStream> {
    const abort = new AbortController();
    const onSignal = (): void =>
      abort.abort(streamError(procedure.name, 'CALL_ABORTED', 'aborted by the caller', signal?.reason));
    const onTimeout = (): void =>
      abort.abort(streamError(procedure.name, 'CALL_TIMEOUT', `not open after ${Math.round(timeoutMs)} ms`));
    const cleanUp = (): void => {
      this.#aborts.delete(abort);
      removeAbort();
    };
    this.#aborts.add(abort);
    if (this.#closed !== null) abort.abort(this.#closed);
    else if (signal?.aborted === true) onSignal();
    const removeAbort = onAbort(signal, onSignal);
    const timer = timeoutMs === Infinity ? null : this.clock.after(timeoutMs, onTimeout);
    let connection: Connection | null = null;
    try {
      connection = await connect(abort.signal);
      this.#add(connection);
      const stream = await connection.openStream(procedure, args, { timeoutMs: Infinity, signal: abort.signal });
      stream.once('close', cleanUp);
      abort.signal.addEventListener('abort', () => void stream.destroy(toError(abort.signal.reason)), { once: true });
      return stream;
    } catch (error) {
      cleanUp();
      connection?.close('LINK_CLOSED', 'its stream could not be opened');
      throw abort.signal.aborted ? abort.signal.reason : error;
    } finally {
      timer?.cancel();
    }
  }

  /**
   * Aborts all streams, and rejects all later ones, with `error`. Resolves when libvirtd has answered
   * all aborts, also those of earlier streams, or after 3 s.
   */
  async close(error: LibvirtError): Promise<void> {
    this.#closed = error;
    for (const abort of this.#aborts) abort.abort(error);
    this.#aborts.clear();
    await Promise.all(this.#connections.values());
  }

  #add(connection: Connection): void {
    const ended = connection.ended.then(() => void this.#connections.delete(connection));
    this.#connections.set(connection, ended);
  }
}

function streamError(
  procedure: string,
  code: 'CALL_ABORTED' | 'CALL_TIMEOUT',
  why: string,
  cause?: unknown,
): LibvirtError {
  return clientError(code, `stream of ${procedure}: ${why}`, { procedure, mayHaveRun: true, cause });
}
