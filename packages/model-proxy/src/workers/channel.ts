/** Calls between the first process of a group and a worker, over the messages of node:child_process. */
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';

/**
 * Sends and receives messages. In a worker, it wraps `process`; in the first process, the object of
 * the worker.
 */
interface Port {
  send(message: object, done: (error: Error | null) => void): unknown;
  onMessage(listener: (message: unknown) => void): void;
}

/** The calls of one side: parameters and result of each name. Both must be JSON. */
type Calls<Names> = { readonly [Name in keyof Names]: { readonly params: unknown; readonly result: unknown } };

/** The functions that answer calls. */
export type Answers<Local extends Calls<Local>> = {
  readonly [Name in keyof Local]: (
    params: Local[Name]['params'],
  ) => Local[Name]['result'] | Promise<Local[Name]['result']>;
};

type Message =
  | { readonly call: string; readonly params: unknown; readonly id?: number }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: { readonly name: string; readonly message: string } };

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The other process has ended. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError';
}

/** The function of the other process has thrown an error. That process still runs. */
class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

/** One end of the connection. */
export class Channel<Remote extends Calls<Remote>, Local extends Calls<Local>> {
  readonly #port: Port;
  readonly #answers: ReadonlyMap<string, (params: never) => unknown>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isClosed = false;

  constructor(port: Port, answers: Answers<Local>) {
    this.#port = port;
    this.#answers = new Map(Object.entries<(params: never) => unknown>(answers));
    port.onMessage((message) => {
      if (isMessage(message)) this.#receive(message);
    });
  }

  /**
   * Calls the other process.
   * @throws {StoreUnavailable} if the function of the other process throws it. AnswerError for its
   *   other errors, with the same message. ChannelError if the other process has ended.
   */
  call<Name extends keyof Remote & string>(
    name: Name,
    params: Remote[Name]['params'],
  ): Promise<Remote[Name]['result']> {
    if (this.#isClosed) return Promise.reject(new ChannelError('the other process has ended'));
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ call: name, params, id });
    });
  }

  /** Calls the other process, and does not wait for the result. Errors of the call are lost. */
  tell<Name extends keyof Remote & string>(name: Name, params: Remote[Name]['params']): void {
    if (!this.#isClosed) this.#send({ call: name, params });
  }

  /** Rejects all calls, because the other process has ended. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.values()) reject(new ChannelError('the other process has ended'));
    this.#waiting.clear();
  }

  #send(message: Message): void {
    // An error means that the other process has ended. The owner of the channel then calls `close`.
    this.#port.send(message, () => undefined);
  }

  #receive(message: Message): void {
    if ('call' in message) {
      void this.#answer(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('error' in message) waiting?.reject(errorOf(message.error));
    else waiting?.resolve(message.result);
  }

  async #answer({ call, params, id }: Extract<Message, { readonly call: string }>): Promise<void> {
    try {
      const answer = this.#answers.get(call);
      if (answer === undefined) throw new ChannelError(`there is no call ${call}`);
      const made = answer(params as never); // the other end is this program, in the same version
      // A result that is not a promise is sent at once, before later messages.
      const result: unknown = made instanceof Promise ? await made : made;
      if (id !== undefined) this.#send({ id, result });
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      if (id !== undefined) this.#send({ id, error: { name, message } });
    }
  }
}

function errorOf({ name, message }: { readonly name: string; readonly message: string }): Error {
  return name === 'StoreUnavailable' ? new StoreUnavailable(message) : new AnswerError(message);
}

/** Returns whether a message is one of this file. node:cluster sends messages over the same connection. */
function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && ('call' in value || 'id' in value);
}
