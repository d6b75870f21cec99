/** A request that waits for the access token of its deployment. */
import { BodyStream } from '../body-stream.js';
import type { SentCall, UpstreamRequest } from '../upstream.js';
import type { TokenResult, TokenSource } from './token-source.js';

/** Options of {@link WaitingCall}. */
interface WaitingCallOptions {
  readonly source: TokenSource;
  readonly request: UpstreamRequest;
  /** Sends the request with the result. */
  readonly send: (result: TokenResult) => SentCall;
}

/** The call until its token arrives, and then the call of the sent request. */
export class WaitingCall implements SentCall {
  readonly #request: UpstreamRequest;
  readonly #cancel: () => void;
  #sent: SentCall | undefined;
  #isPaused = false;

  constructor({ source, request, send }: WaitingCallOptions) {
    this.#request = request;
    this.#cancel = source.wait((result) => {
      this.#sent = send(result);
      if (this.#isPaused) this.#sent.pause();
    });
  }

  get isBodyFree(): boolean {
    return this.#sent?.isBodyFree ?? false;
  }

  abort(): void {
    if (this.#sent !== undefined) {
      this.#sent.abort();
      return;
    }
    this.#cancel();
    if (this.#request.body instanceof BodyStream) this.#request.body.destroy();
  }

  pause(): void {
    this.#isPaused = true;
    this.#sent?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#sent?.resume();
  }
}
