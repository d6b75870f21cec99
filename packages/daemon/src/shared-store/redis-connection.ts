/**
 * A connection to Redis that recovers from an incomplete answer. After such an answer, the decoder of the client waits
 * for the rest of a value, and reads all later answers as parts of this value. Only a new connection helps.
 */
import { withDeadline } from '../deadline.js';

/** The used methods of a client of Redis. */
interface Client {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: 'connect' | 'ready', listener: () => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

/** Options of a {@link RedisConnection}. */
interface ConnectionOptions {
  /** Milliseconds until Redis must have answered a command. */
  readonly commandMs: number;
  /** Milliseconds until a connection must be ready after Redis has accepted it. */
  readonly connectMs: number;
}

/** Time between two PINGs. They also detect a broken connection whose end was never reported. */
const PING_INTERVAL_MS = 5000;
/** Time before the connection tries again after a rejected subscription. */
const SUBSCRIBE_PAUSE_MS = 1000;

/** One connection, which starts again whenever it ends or Redis does not answer in time. */
export class RedisConnection {
  readonly #newClient: () => Client;
  readonly #options: ConnectionOptions;
  readonly #readyListeners: (() => void)[] = [];
  readonly #subscriptions: (readonly [channel: string, listener: (message: string) => void])[] = [];
  readonly #pings: NodeJS.Timeout;
  #client: Client;
  #isClosed = false;
  #pingCount = 0;
  /** The last failure of the connection; undefined: none. */
  #lastError: unknown;

  constructor(newClient: () => Client, options: ConnectionOptions) {
    this.#newClient = newClient;
    this.#options = options;
    this.#client = this.#makeClient();
    this.#pings = setInterval(() => void this.#ping(), PING_INTERVAL_MS).unref();
  }

  /** The last failure of the connection; undefined: none. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /**
   * Connects, and resolves as soon as the connection is ready.
   * @throws {Error} if `close` ends the attempts, or if Redis accepts the connection and it is not ready in
   *   `connectMs`. In the second case, the attempts continue with another client.
   */
  async connect(): Promise<void> {
    await this.#client.connect();
  }

  /** Calls the listener each time the connection is ready. */
  onReady(listener: () => void): void {
    this.#readyListeners.push(listener);
  }

  /** @throws {Error} if there is no connection, if it ends, at the deadline, or if Redis rejects the command. */
  async command(args: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (!client.isReady) throw new Error(`there is no connection (${reasonOf(this.#lastError)})`);
    return await this.#inTime(client, client.sendCommand([...args]));
  }

  /**
   * Subscribes now and after each interruption.
   * @throws {Error} as {@link RedisConnection.command}; then there is no subscription.
   */
  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    await this.#inTime(this.#client, this.#client.subscribe(channel, listener));
    this.#subscriptions.push([channel, listener]);
  }

  /** Closes the connection permanently. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#pings);
    if (this.#client.isOpen) this.#client.destroy();
  }

  #makeClient(): Client {
    const client = this.#newClient();
    let handshake: NodeJS.Timeout | undefined;
    // Does not cancel `handshake`: after some errors, for example of the decoder, the connection stays open.
    client.on('error', (error) => {
      if (client === this.#client) this.#lastError = error;
    });
    client.on('connect', () => {
      const { connectMs } = this.#options;
      clearTimeout(handshake);
      handshake = setTimeout(() => this.#replace(client, lateError(connectMs)), connectMs).unref();
    });
    client.on('ready', () => {
      clearTimeout(handshake);
      for (const listener of this.#readyListeners) listener();
    });
    return client;
  }

  /**
   * Waits for an answer until the deadline, and then replaces the connection. Redis answers in order, so after a
   * late answer no other answer on this connection can be in time.
   * @throws {Error} at the deadline; before it, the error of the answer.
   */
  async #inTime<Answer>(client: Client, answer: Promise<Answer>): Promise<Answer> {
    const { commandMs } = this.#options;
    return await withDeadline(answer, commandMs, () => {
      const error = lateError(commandMs);
      this.#replace(client, error);
      throw error;
    });
  }

  /** Closes the connection of a client, and connects a new client. Does nothing if this has already happened. */
  #replace(client: Client, reason: unknown): void {
    if (client !== this.#client || this.#isClosed) return;
    this.#lastError = reason;
    const next = this.#makeClient();
    this.#client = next;
    if (client.isOpen) client.destroy();
    next.connect().then(
      () => this.#subscribeAgain(next),
      // Ignores the error: the client connects until `destroy` ends its attempts, so `destroy` caused the error.
      () => undefined,
    );
  }

  #subscribeAgain(client: Client): void {
    for (const [channel, listener] of this.#subscriptions) {
      this.#inTime(client, client.subscribe(channel, listener)).catch((error: unknown) => {
        setTimeout(() => this.#replace(client, error), SUBSCRIBE_PAUSE_MS).unref();
      });
    }
  }

  async #ping(): Promise<void> {
    const client = this.#client;
    if (!client.isReady) return;
    const sent = String((this.#pingCount += 1));
    try {
      const answer = await this.#inTime(client, client.sendCommand(['PING', sent]));
      // Another text answers another command: the client has missed an answer, or got one too many.
      if ([answer].flat().at(-1) !== sent) this.#replace(client, new Error('Redis sent an answer to no command'));
    } catch {
      // Nothing to do: after a late answer, `#inTime` has replaced the client, and after the end of a connection, the
      // client itself connects again.
    }
  }
}

function lateError(ms: number): Error {
  return new Error(`no answer within ${ms / 1000} s`);
}

/** Returns the text of an error for a message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : 'the connection ended';
}
