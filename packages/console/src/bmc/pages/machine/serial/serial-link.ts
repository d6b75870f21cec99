/**
 * The connection of the serial console and its messages.
 * docs/reference/serial-console-websocket.md describes the messages.
 */
import { signal } from '@preact/signals';
import { WebSocketLink } from '../../../redfish/web-socket-link.js';

/** Which client may type, and which one asks for the keyboard. */
export interface KeyboardState {
  /** The name of the client that has the keyboard; null: it is free. */
  readonly holder: string | null;
  /** The name of the client that asks for the keyboard; null: none. */
  readonly asker: string | null;
  /** Whether this client has the keyboard. */
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
  /** Called when a connection begins. The output of the present boot follows, as far as the service records it. */
  readonly onBegin: () => void;
  /** Called with output. The terminal calls `processed` when it has shown the output. */
  readonly onOutput: (bytes: Uint8Array, processed: () => void) => void;
  readonly onNotice: (text: string) => void;
  readonly onDropped: (bytes: number, why: string) => void;
}

const free: KeyboardState = { holder: null, asker: null, yours: false };
/** The client reports to the service after this number of processed bytes, or when it has processed everything. */
const REPORT_BYTES = 128 * 1024;
/** The connection to one serial console. */
export class SerialLink {
  readonly connection: WebSocketLink;
  readonly console = signal<{ readonly state: string; readonly why: string } | null>(null);
  readonly keyboard = signal<KeyboardState>(free);
  /** The name of this client, as other clients see it. */
  readonly you = signal('');
  readonly handOverSeconds = signal(0);
  readonly #options: SerialLinkOptions;
  #socket: WebSocket | null = null;
  #processed = 0;
  #reported = 0;
  #waiting = 0;

  constructor(options: SerialLinkOptions) {
    this.#options = options;
    const { machine, path } = options;
    this.connection = new WebSocketLink({
      machine,
      path,
      onSocket: (socket) => this.#listen(socket),
      onClose: () => {
        this.keyboard.value = free;
        this.console.value = null;
      },
    });
    this.connection.connect();
  }

  /** Sends input. Ignores input while the connection is not open. */
  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.connection.state.value.kind === 'open') this.connection.send(bytes);
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
    this.connection.close();
  }

  #listen(socket: WebSocket): void {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data === 'string')
        this.#hear(JSON.parse(data) as ServiceMessage); // written by our service
      else this.#show(new Uint8Array(data));
    });
  }

  #hear(message: ServiceMessage): void {
    switch (message.type) {
      case 'hello':
        this.#processed = this.#reported = this.#waiting = 0;
        this.you.value = message.you;
        this.handOverSeconds.value = message.handOverSeconds;
        this.#options.onBegin();
        this.connection.markOpen();
        // From now on, the service skips output that the terminal cannot show in time.
        this.#send({ type: 'read', bytes: 0 });
        return;
      case 'state':
        this.connection.resetRetryTime();
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
    this.connection.send(JSON.stringify(message));
  }
}
