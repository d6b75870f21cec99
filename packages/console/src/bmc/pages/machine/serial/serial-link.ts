/**
 * The connection of the serial console: its messages, and new attempts after a loss.
 * docs/reference/serial-console-websocket.md describes the messages.
 */
import { signal } from '@preact/signals';
import { get } from '../../../redfish/client.js';
import { closeCodes, openWebSocket } from '../../../redfish/web-socket.js';
import { RedfishFailure } from '../../../redfish/wire.js';

/** The state of the connection. */
type LinkState =
  | { readonly kind: 'connecting' | 'open' }
  | { readonly kind: 'lost'; readonly retrySeconds: number }
  | { readonly kind: 'ended'; readonly code: number; readonly reason: string };

/** Who may type. */
export interface KeyboardState {
  readonly holder: string | null;
  readonly asker: string | null;
  readonly yours: boolean;
}

type ServiceMessage =
  | { readonly type: 'hello'; readonly you: string; readonly handOverSeconds: number }
  | { readonly type: 'boot'; readonly boot: number | null; readonly bytes: number }
  | { readonly type: 'state'; readonly state: string; readonly why: string }
  | ({ readonly type: 'keyboard' } & KeyboardState)
  | { readonly type: 'dropped'; readonly bytes: number; readonly why: string }
  | { readonly type: 'notice'; readonly text: string };

/** Options of {@link SerialLink}. */
interface SerialLinkOptions {
  /** The machine's URI. */
  readonly machine: string;
  /** The URI of the WebSocket. */
  readonly path: string;
  /** Called when a connection begins: the log of this boot follows. */
  readonly onBegin: () => void;
  /** Called with output. `processed` tells the service that the terminal has shown it. */
  readonly onOutput: (bytes: Uint8Array, processed: () => void) => void;
  readonly onNotice: (text: string) => void;
  readonly onDropped: (bytes: number, why: string) => void;
}

const free: KeyboardState = { holder: null, asker: null, yours: false };
/** The maximum time between two attempts, in seconds. */
const MAX_RETRY_SECONDS = 15;
/** The service learns about processed output after this number of bytes. */
const REPORT_BYTES = 128 * 1024;
/** Close codes after which another attempt gives the same result. */
const finalCodes: readonly number[] = [closeCodes.forbidden, closeCodes.gone, closeCodes.absent, closeCodes.tooMany];

/** The connection to one serial console. */
export class SerialLink {
  readonly state = signal<LinkState>({ kind: 'connecting' });
  readonly console = signal<{ readonly state: string; readonly why: string } | null>(null);
  readonly keyboard = signal<KeyboardState>(free);
  /** The name of this client, as other clients see it. */
  readonly you = signal('');
  readonly handOverSeconds = signal(0);
  readonly #options: SerialLinkOptions;
  readonly #ended = new AbortController();
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;
  #processed = 0;
  #reported = 0;
  #waiting = 0;

  constructor(options: SerialLinkOptions) {
    this.#options = options;
    this.connect();
  }

  /** Connects now. */
  connect(): void {
    clearTimeout(this.#timer);
    this.state.value = { kind: 'connecting' };
    this.#open().catch((error: unknown) => {
      if (this.#ended.signal.aborted) return;
      if (error instanceof RedfishFailure && error.status >= 400 && error.status < 500) {
        this.#end(4000 + error.status, error.message);
      } else this.#lose();
    });
  }

  /** Sends input. */
  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.state.value.kind === 'open') this.#socket?.send(bytes);
  }

  take(): void {
    this.#send({ type: 'take' });
  }

  release(): void {
    this.#send({ type: 'release' });
  }

  sendBreak(): void {
    this.#send({ type: 'break' });
  }

  close(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  async #open(): Promise<void> {
    // Asks for a new log-in if the session has ended: a WebSocket cannot.
    await get(`${this.#options.machine}?$select=Id`, this.#ended.signal);
    if (this.#ended.signal.aborted) return;
    const socket = openWebSocket(this.#options.path);
    this.#socket = socket;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data === 'string')
        this.#hear(JSON.parse(data) as ServiceMessage); // written by our service
      else this.#show(new Uint8Array(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.#ended.signal.aborted) return;
      this.keyboard.value = free;
      this.console.value = null;
      if (finalCodes.includes(code)) this.#end(code, reason);
      else this.#lose();
    };
  }

  #hear(message: ServiceMessage): void {
    switch (message.type) {
      case 'hello':
        this.#processed = this.#reported = this.#waiting = 0;
        this.you.value = message.you;
        this.handOverSeconds.value = message.handOverSeconds;
        this.#options.onBegin();
        this.state.value = { kind: 'open' };
        // From now on, the service skips output that the terminal cannot show in time.
        this.#send({ type: 'read', bytes: 0 });
        return;
      case 'state':
        this.#attempts = 0;
        this.console.value = { state: message.state, why: message.why };
        return;
      case 'keyboard':
        this.keyboard.value = { holder: message.holder, asker: message.asker, yours: message.yours };
        return;
      case 'dropped':
        this.#options.onDropped(message.bytes, message.why);
        return;
      case 'notice':
        this.#options.onNotice(message.text);
        return;
      default:
        return;
    }
  }

  #show(bytes: Uint8Array): void {
    const socket = this.#socket;
    this.#waiting += 1;
    this.#options.onOutput(bytes, () => {
      if (this.#socket !== socket) return;
      this.#waiting -= 1;
      this.#processed += bytes.length;
      if (this.#waiting > 0 && this.#processed - this.#reported < REPORT_BYTES) return;
      this.#reported = this.#processed;
      this.#send({ type: 'read', bytes: this.#processed });
    });
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #end(code: number, reason: string): void {
    this.state.value = { kind: 'ended', code, reason };
  }

  #lose(): void {
    const retrySeconds = Math.min(MAX_RETRY_SECONDS, 2 ** this.#attempts);
    this.#attempts += 1;
    this.state.value = { kind: 'lost', retrySeconds };
    this.#timer = setTimeout(() => this.connect(), retrySeconds * 1000);
  }
}
