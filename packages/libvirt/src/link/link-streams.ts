import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import type { CallOptions } from '../caller.js';
import type { Connection } from '../connection.js';
import { clientError, type LibvirtError, toError } from '../errors.js';
import type { Procedure } from '../protocol/procedure.js';
import type { LibvirtStream } from '../stream.js';

/** All streams of a link. Each stream has its own connection. */
export class LinkStreams {
  /** One per stream, open or opening. The abort reason is the error that ends the stream. */
  readonly #ends = new Set<AbortController>();
  #closed: LibvirtError | null = null;

  constructor(private readonly clock: Clock) {}

  /**
   * Opens a stream. `signal` and the end of the link end it, too.
   * @param connect opens a connection and makes the handshake, unless its signal aborts.
   * @throws {LibvirtError} CALL_TIMEOUT if the stream is not open after `timeoutMs`, or as
   *   `Link.call`.
   */
  async open<A, R>(
    procedure: Procedure<A, R>,
    args: A,
    { signal, timeoutMs }: CallOptions & { readonly timeoutMs: number },
    connect: (signal: AbortSignal) => Promise<Connection>,
  ): Promise<LibvirtStream> {
    const end = new AbortController();
    const onSignal = (): void =>
      end.abort(streamError(procedure.name, 'CALL_ABORTED', 'aborted by the caller', signal?.reason));
    const onTimeout = (): void =>
      end.abort(streamError(procedure.name, 'CALL_TIMEOUT', `not open after ${Math.round(timeoutMs)} ms`));
    const cleanUp = (): void => {
      this.#ends.delete(end);
      removeAbort();
    };
    this.#ends.add(end);
    if (this.#closed !== null) end.abort(this.#closed);
    else if (signal?.aborted === true) onSignal();
    const removeAbort = onAbort(signal, onSignal);
    const timer = timeoutMs === Infinity ? null : this.clock.after(timeoutMs, onTimeout);
    let connection: Connection | null = null;
    try {
      connection = await connect(end.signal);
      const stream = await connection.openStream(procedure, args, { timeoutMs: Infinity, signal: end.signal });
      stream.once('close', cleanUp);
      const opened = connection;
      const onEnd = (): void => {
        stream.destroy(toError(end.signal.reason));
        // The pending write of an upload would keep the process alive.
        if (this.#closed !== null) opened.close('LINK_CLOSED', this.#closed.message);
      };
      end.signal.addEventListener('abort', onEnd, { once: true });
      return stream;
    } catch (error) {
      cleanUp();
      connection?.close('LINK_CLOSED', 'its stream could not be opened');
      throw end.signal.aborted ? end.signal.reason : error;
    } finally {
      timer?.cancel();
    }
  }

  /** Ends all streams, and rejects all later streams, with `error`. */
  close(error: LibvirtError): void {
    this.#closed = error;
    for (const end of this.#ends) end.abort(error);
    this.#ends.clear();
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
