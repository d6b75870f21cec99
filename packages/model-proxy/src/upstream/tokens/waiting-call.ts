/** A request that waits for the access token of its deployment, or for its signature. */
import { BodyStream } from '../body-stream.js';
import type { SentCall, UpstreamRequest } from '../upstream.js';

/** Options of {@link WaitingCall}. */
interface WaitingCallOptions<Result> {
  /** Waits for the result, and returns a function that cancels. */
  readonly wait: (then: (result: Result) => void) => () => void;
  readonly request: UpstreamRequest;
  /** Sends the request with the result. */
  readonly send: (result: Result) => SentCall;
  /** Ends the wait after `ms` milliseconds: `fail` reports the error. Default: no limit. */
  readonly limit?: { readonly ms: number; readonly fail: () => SentCall };
}

/** The call until the result arrives, and then the call of the sent request. */
export class WaitingCall<Result> implements SentCall {
  readonly #request: UpstreamRequest;
  readonly #cancel: () => void;
  #timer: NodeJS.Timeout | undefined;
  #sent: SentCall | undefined;
  #isPaused = false;

  constructor({ wait, request, send, limit }: WaitingCallOptions<Result>) {
    this.#request = request;
    this.#cancel = wait((result) => this.#begin(send(result)));
    if (limit === undefined) return;
    this.#timer = setTimeout(() => {
      this.#cancel();
      this.#begin(limit.fail());
    }, limit.ms);
  }

  #begin(sent: SentCall): void {
    clearTimeout(this.#timer);
    this.#sent = sent;
    if (this.#isPaused) sent.pause();
  }

  get isBodyFree(): boolean {
    return this.#sent?.isBodyFree ?? false;
  }

  abort(): void {
    if (this.#sent !== undefined) {
      this.#sent.abort();
      return;
    }
    clearTimeout(this.#timer);
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
