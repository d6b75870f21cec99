/**
 * Sends a console's output to one client. A slow client gets a notice in place of the output that
 * it cannot read in time, so that neither the guest nor other clients wait for it.
 */

/** Options of {@link ConsoleOutput}. */
interface ConsoleOutputOptions {
  /** Sends output. @param onSent called when the connection has accepted the bytes. */
  readonly send: (bytes: Buffer, onSent: () => void) => void;
  /** Returns the number of bytes that the client has not read. */
  readonly behindBytes: () => number;
  /** Sends a text of this service to the client. */
  readonly notice: (text: string) => void;
}

/**
 * The maximum backlog of a slow client. An OpenSSH client accepts up to 2 MiB before its backlog
 * begins.
 */
const MAX_BEHIND_BYTES = 1024 * 1024;
/**
 * A client with a smaller backlog has caught up. The value is larger than one write of the socket,
 * so the backlog is smaller than this at the event `drain`.
 */
const CAUGHT_UP_BYTES = 64 * 1024;

/** The output of a console to one client. */
export class ConsoleOutput {
  readonly #options: ConsoleOutputOptions;
  /** Number of dropped bytes that the client does not know about yet. */
  #missingBytes = 0;

  constructor(options: ConsoleOutputOptions) {
    this.#options = options;
  }

  /** Whether the client has too much unread output to get more of it. */
  get isBehind(): boolean {
    return this.#options.behindBytes() > MAX_BEHIND_BYTES;
  }

  /** Sends output. Drops it and counts it as missing, while the client is behind or a notice is due. */
  show(bytes: Buffer): void {
    if (this.#missingBytes > 0 || this.isBehind) this.#missingBytes += bytes.length;
    else this.#options.send(bytes, () => this.onDrain());
  }

  /**
   * Shows how many bytes were dropped, if the client has caught up. Also call this when the socket is
   * empty.
   */
  onDrain(): void {
    if (this.#missingBytes === 0 || this.#options.behindBytes() > CAUGHT_UP_BYTES) return;
    const missing = this.#missingBytes;
    this.#missingBytes = 0;
    this.#options.notice(`${missing} bytes are missing here: this connection is too slow`);
  }
}
