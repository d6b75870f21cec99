/** Connects a WebSocket with the VNC server of a machine. */
import type { Duplex } from 'node:stream';
import { DriverError } from '../drivers/driver-error.js';
import type { DisplayAccess } from '../drivers/display-control.js';
import type { WebSocketClient, WebSocketHandler } from '../redfish/web-socket.js';
import { ClientMessages } from './rfb/client-messages.js';
import { RfbError } from './rfb/rfb-error.js';
import { logIn } from './rfb/server-login.js';

/** How long the login at a VNC server may take. */
const LOGIN_MS = 15_000;

/** Serves a display to a client until either of them disconnects. */
export function openScreen(access: DisplayAccess, client: WebSocketClient): WebSocketHandler {
  const screen = new Screen(client);
  void screen.connect(access);
  return screen;
}

class Screen implements WebSocketHandler {
  readonly #client: WebSocketClient;
  #display: Duplex | undefined;
  #messages: ClientMessages | undefined;
  #isClosed = false;

  constructor(client: WebSocketClient) {
    this.#client = client;
    // `#relay` resumes the client when the display answers.
    client.pause();
  }

  /** Connects to the display. Never rejects. */
  async connect(access: DisplayAccess): Promise<void> {
    try {
      const stream = await access.connect();
      this.#useStream(stream);
      const timer = setTimeout(() => stream.destroy(), LOGIN_MS);
      const display = await logIn(stream, access).finally(() => clearTimeout(timer));
      this.#useStream(display);
      this.#relay(display);
    } catch (error) {
      this.#client.close(1011, reasonOf(error));
      this.#display?.destroy();
    }
  }

  message(data: Buffer): void {
    if (this.#messages === undefined || this.#display === undefined) return;
    try {
      const bytes = this.#messages.push(data);
      if (bytes.length > 0 && !this.#display.write(bytes)) this.#client.pause();
    } catch (error) {
      this.#client.close(1002, reasonOf(error));
      this.#display.destroy();
    }
  }

  drained(): void {
    this.#display?.resume();
  }

  closed(): void {
    this.#isClosed = true;
    this.#display?.destroy();
  }

  /** Uses a stream, or destroys it if the client has left already. */
  #useStream(stream: Duplex): void {
    this.#display = stream;
    // Ignores errors, because Node emits `close` after them.
    stream.on('error', () => undefined);
    if (this.#isClosed) stream.destroy();
  }

  #relay(display: Duplex): void {
    const client = this.#client;
    display.on('data', (bytes: Buffer) => {
      if (!client.send(bytes)) display.pause();
    });
    display.on('drain', () => client.resume());
    display.once('close', () => client.close(4409, 'The display has ended. The machine may be off.'));
    if (display.destroyed) client.close(4409, 'The display has ended. The machine may be off.');
    this.#messages = new ClientMessages(
      (bytes) => void client.send(bytes),
      // Input needs the same privilege as power actions.
      () => !client.privileges.has('ConfigureComponents'),
    );
    client.resume();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof RfbError) return error.message;
  return error instanceof DriverError ? `The screen is not available: ${error.message}.` : 'The screen has failed.';
}
