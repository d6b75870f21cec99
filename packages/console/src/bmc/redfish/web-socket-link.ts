/** A WebSocket of a machine that connects again after a loss. */
import { signal } from '@preact/signals';
import { get } from './client.js';
import { closeCodes, openWebSocket } from './web-socket.js';
import { RedfishFailure } from './wire.js';

/** The state of the connection. `reason` is a sentence of the service, or empty. */
type LinkState =
  | { readonly kind: 'connecting' | 'open' }
  | { readonly kind: 'lost'; readonly reason: string; readonly retrySeconds: number }
  | { readonly kind: 'ended'; readonly reason: string };

/** Options of {@link WebSocketLink}. */
interface WebSocketLinkOptions {
  /** The machine's URI. */
  readonly machine: string;
  /** The URI of the WebSocket. */
  readonly path: string;
  /** Called with each new socket, before it is open. */
  readonly onSocket: (socket: WebSocket) => void;
  /** Called when a socket has closed, except after {@link WebSocketLink.close}. */
  readonly onClose?: () => void;
}

/** The maximum time between two attempts, in seconds. */
const MAX_RETRY_SECONDS = 15;
/** Close codes after which the link does not connect again by itself. */
const finalCodes: readonly number[] = [closeCodes.forbidden, closeCodes.gone, closeCodes.absent, closeCodes.tooMany];

/**
 * The connection. After a loss, it connects again, unless the close code is final or the service answers with 4xx.
 * In these two cases, the state is `ended`, and `connect` starts the connection again.
 */
export class WebSocketLink {
  readonly state = signal<LinkState>({ kind: 'connecting' });
  readonly #options: WebSocketLinkOptions;
  readonly #closed = new AbortController();
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;

  constructor(options: WebSocketLinkOptions) {
    this.#options = options;
  }

  /** Connects now. */
  connect(): void {
    clearTimeout(this.#timer);
    this.state.value = { kind: 'connecting' };
    this.#open().catch((error: unknown) => {
      if (this.#closed.signal.aborted) return;
      const isRefused = error instanceof RedfishFailure && error.status >= 400 && error.status < 500;
      if (isRefused) this.state.value = { kind: 'ended', reason: error.message };
      else this.#lose('');
    });
  }

  /** Marks the connection as open: the handshake of its protocol is complete. */
  markOpen(): void {
    this.state.value = { kind: 'open' };
  }

  /** Makes the first attempt after the next loss wait only 1 s. Call it when the connection has worked. */
  resetRetryTime(): void {
    this.#attempts = 0;
  }

  /** Sends a message. Does nothing while the socket is not open. */
  send(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(message);
  }

  /** Closes the connection. Do not use the link after this call. */
  close(): void {
    this.#closed.abort();
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  async #open(): Promise<void> {
    // If the session has ended, this request opens the login dialog, which the failure of a WebSocket cannot do.
    await get(`${this.#options.machine}?$select=Id`, this.#closed.signal);
    if (this.#closed.signal.aborted) return;
    const socket = openWebSocket(this.#options.path);
    this.#socket = socket;
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#closed.signal.aborted) return;
      this.#options.onClose?.();
      if (finalCodes.includes(code)) this.state.value = { kind: 'ended', reason };
      else this.#lose(reason);
    });
    this.#options.onSocket(socket);
  }

  #lose(reason: string): void {
    const retrySeconds = Math.min(MAX_RETRY_SECONDS, 2 ** this.#attempts);
    this.#attempts += 1;
    this.state.value = { kind: 'lost', reason, retrySeconds };
    this.#timer = setTimeout(() => this.connect(), retrySeconds * 1000);
  }
}
