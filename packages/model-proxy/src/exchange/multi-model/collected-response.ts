/** A response that no client receives: the proxy needs its body for an answer of its own. */
import { ServerResponse, type IncomingMessage } from 'node:http';

/** Collects an answer instead of sending it. */
export class CollectedResponse extends ServerResponse {
  readonly #chunks: Buffer[] = [];
  readonly #onEnd: () => void;
  #isEnded = false;
  #isComplete = false;

  /** @param onEnd called once, when the answer is complete or has failed. */
  constructor(request: IncomingMessage, onEnd: () => void) {
    super(request);
    this.#onEnd = onEnd;
    // Node computes this property from the connection, which this response does not have: it would always be false,
    // and the log would report that the client disconnected.
    Object.defineProperty(this, 'writableFinished', { get: () => this.#isComplete });
  }

  /** The body so far. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  override write(chunk: unknown, encoding?: unknown): boolean {
    if (typeof chunk === 'string') this.#chunks.push(Buffer.from(chunk, encoding === 'latin1' ? 'latin1' : 'utf8'));
    else if (chunk instanceof Uint8Array) this.#chunks.push(Buffer.from(chunk));
    return true;
  }

  override end(chunk?: unknown): this {
    if (this.#isEnded) return this;
    this.#isEnded = true;
    this.#isComplete = true;
    this.write(chunk);
    this.#onEnd();
    return this;
  }

  override destroy(): this {
    this.end();
    this.#isComplete = false;
    return this;
  }
}
