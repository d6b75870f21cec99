import { onAbort } from './abort.js';
import type { Clock } from './clock.js';
import type { CallOptions } from './caller.js';
import type { Connection } from './connection.js';
import { clientError, type LibvirtError, toError } from './errors.js';
import type { Procedure } from './protocol/procedure.js';
import type { LibvirtStream } from './stream.js';

/** The streams of a link, each on a connection of its own, and those that are being opened. */
export class LinkStreams {
  /** One per stream, aborted with the error that ends it. */
  readonly #ends = new Set<AbortController>();
  #closed: LibvirtError | null = null;

  constructor(private readonly clock: Clock) {}

  /**
   * Opens a stream that ends with `signal` or with the link.
   * @param connect makes a connection that is ready for calls; aborting its signal gives that up.
   * @throws {LibvirtError} CALL_TIMEOUT when it is not open after `timeoutMs`, or as `Link.call`.
   */
  async open<A, R>(
    procedure: Procedure<A, R>,
    args: A,
    { signal, timeoutMs }: CallOptions & { readonly timeoutMs: number },
    connect: (signal: AbortSignal) => Promise<Connection>,
  ): Promise<LibvirtStream> {
    const end = new AbortController();
    const giveUp = (): void =>
      end.abort(givenUp(procedure.name, 'CALL_ABORTED', 'given up by the caller', signal?.reason));
    const onTimeout = (): void =>
      end.abort(givenUp(procedure.name, 'CALL_TIMEOUT', `not open after ${Math.round(timeoutMs)} ms`));
    const forget = (): void => {
      this.#ends.delete(end);
      removeAbort();
    };
    this.#ends.add(end);
    if (this.#closed !== null) end.abort(this.#closed);
    else if (signal?.aborted === true) giveUp();
    const removeAbort = onAbort(signal, giveUp);
    const timer = timeoutMs === Infinity ? null : this.clock.after(timeoutMs, onTimeout);
    let connection: Connection | null = null;
    try {
      connection = await connect(end.signal);
      const stream = await connection.openStream(procedure, args, { timeoutMs: Infinity, signal: end.signal });
      stream.once('close', forget);
      end.signal.addEventListener('abort', () => stream.destroy(toError(end.signal.reason)), { once: true });
      return stream;
    } catch (error) {
      forget();
      connection?.close('LINK_CLOSED', 'its stream could not be opened');
      throw end.signal.aborted ? end.signal.reason : error;
    } finally {
      timer?.cancel();
    }
  }

  /** Ends every stream with `error`, those too that are asked for from now on. */
  close(error: LibvirtError): void {
    this.#closed = error;
    for (const end of this.#ends) end.abort(error);
    this.#ends.clear();
  }
}

function givenUp(procedure: string, code: 'CALL_ABORTED' | 'CALL_TIMEOUT', why: string, cause?: unknown): LibvirtError {
  return clientError(code, `stream of ${procedure}: ${why}`, { procedure, mayHaveRun: true, cause });
}
