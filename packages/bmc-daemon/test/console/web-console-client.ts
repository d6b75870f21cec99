/** A client of a console's WebSocket, which collects the output and the text messages of the service. */
import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';

/** The time limit of each wait for output or a message. A healthy server needs a fraction of it. */
const TIMEOUT_MS = 120_000;

/** A client that reads everything that the service sends. */
export class WebConsoleClient {
  readonly #socket: WebSocket;
  readonly #closed: Promise<string>;
  #wake: (() => void)[] = [];
  #seen = 0;
  #hasEnded = false;
  /** The output so far. */
  output = '';
  /** The text messages so far, without those that `waitForMessage` has removed. */
  readonly messages: Record<string, unknown>[] = [];

  /** @param url for example `http://127.0.0.1:8000/redfish/v1/Systems/node-2/SerialConsole`. */
  constructor(url: string, protocols: readonly string[], options: ClientOptions = {}) {
    this.#socket = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], options);
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.output += data.toString('latin1');
      // The service sends only JSON objects.
      else this.messages.push(JSON.parse(data.toString()) as Record<string, unknown>);
      this.#wakeAll();
    });
    this.#closed = new Promise((resolve) => {
      this.#socket.on('error', ({ message }) => resolve(message));
      this.#socket.once('close', (code, reason) => resolve(`${code} ${reason.toString()}`));
    });
    void this.#closed.then(() => {
      this.#hasEnded = true;
      this.#wakeAll();
    });
  }

  /** Resolves when the handshake is complete; rejects if the service rejects it. */
  async opened(): Promise<this> {
    await once(this.#socket, 'open');
    return this;
  }

  type(text: string): void {
    this.#socket.send(Buffer.from(text, 'latin1'), { binary: true });
  }

  sendMessage(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  /**
   * Waits until the output after the text of the previous `waitFor` contains the given text.
   * @throws {Error} with the whole output if the connection ends first, or after TIMEOUT_MS.
   */
  async waitFor(wanted: string): Promise<void> {
    await this.#until(
      () => this.output.includes(wanted, this.#seen),
      () => `${JSON.stringify(wanted)}, but ${JSON.stringify(this.output)}`,
    );
    this.#seen = this.output.indexOf(wanted, this.#seen) + wanted.length;
  }

  /**
   * Waits for a text message with these members. Returns it, and removes it and all earlier ones from
   * `messages`.
   * @throws {Error} with all messages if the connection ends first, or after TIMEOUT_MS.
   */
  async waitForMessage(wanted: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
    const find = () =>
      this.messages.findIndex((message) => Object.entries(wanted).every(([name, value]) => message[name] === value));
    await this.#until(
      () => find() >= 0,
      () => `${JSON.stringify(wanted)}, but ${JSON.stringify(this.messages)}`,
    );
    const [found = {}] = this.messages.splice(0, find() + 1).slice(-1);
    return found;
  }

  /**
   * Waits for the end of the connection. Returns the close code and the reason, or the error of a
   * rejected handshake.
   */
  async end(): Promise<string> {
    return await this.#closed;
  }

  dispose(): void {
    this.#socket.terminate();
  }

  async #until(isReached: () => boolean, wanted: () => string): Promise<void> {
    const until = Date.now() + TIMEOUT_MS;
    const timer = setInterval(() => this.#wakeAll(), 1000);
    try {
      while (!isReached()) {
        if (this.#hasEnded || Date.now() > until) throw new Error(`the service never sent ${wanted()}`);
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    } finally {
      clearInterval(timer);
    }
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
