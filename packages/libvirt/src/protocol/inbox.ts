import { MessageSplitter } from './message-splitter.js';

/** Functions of the connection, which an {@link Inbox} calls. */
interface InboxOptions {
  /**
   * Handles one message, as the callback of {@link MessageSplitter} does.
   * @returns false to defer the message and all later ones until the callers of the replies have run.
   */
  handle(buffer: Buffer, start: number, end: number, owned: boolean): boolean;
  /** Whether the connection has stream messages that wait until the callers of the replies have run. */
  hasBuffered(): boolean;
  /** Delivers the waiting stream messages. */
  deliverBuffered(): void;
  /** Called if the bytes cannot be split into messages. */
  malformed(cause: unknown): void;
}

/** Splits the received bytes of a connection into messages, and defers messages until the next tick. */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #splitter: MessageSplitter;
  /** Received bytes that wait until the callers of the replies have run. */
  #backlog: Buffer[] | null = null;
  #isStopped = false;
  /**
   * The connection sets this to true when it resolves a promise with a reply: the caller may not have
   * run yet. The handling of the next bytes resets it.
   */
  replied = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#splitter = new MessageSplitter((...message) => options.handle(...message));
  }

  /** Handles received bytes. They are valid only during the call. */
  receive(chunk: Buffer): void {
    if (this.#backlog === null) this.#process(chunk);
    else this.#backlog.push(Buffer.from(chunk));
  }

  /** Drops the waiting bytes. Bytes that arrive later never wait. */
  stop(): void {
    this.#isStopped = true;
    this.#backlog = null;
  }

  #process(chunk: Buffer): void {
    this.replied = false;
    let rest: Buffer | null;
    try {
      rest = this.#splitter.push(chunk);
    } catch (cause) {
      this.#options.malformed(cause);
      return;
    }
    if (this.#isStopped || (rest === null && !this.#options.hasBuffered())) return;
    this.#backlog = rest === null ? [] : [Buffer.from(rest)];
    // A tick that is scheduled in a promise callback runs after all promise callbacks, so after the
    // callers of the replies.
    queueMicrotask(() => process.nextTick(() => this.#processBacklog()));
  }

  #processBacklog(): void {
    const bytes = Buffer.concat(this.#backlog ?? []);
    this.#backlog = null;
    this.#options.deliverBuffered();
    this.#process(bytes);
  }
}
