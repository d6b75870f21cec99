/** One attempt of a model request: a request to an upstream, and its answer. */
import { performance } from 'node:perf_hooks';
import { toProxyError, type ProxyError } from '../../errors/proxy-error.js';
import type { TracedCall } from '../../trace.js';
import type { SentCall, UpstreamHandler } from '../../upstream/upstream.js';
import type { Answer, AnswerContext, AttemptState } from '../answer/answer.js';
import { answerOf } from '../answer/answer-of.js';
import { breakOff } from '../answer/refusal.js';

/** The part of the context that is known before the answer. */
type RequestContext = Pick<AnswerContext, 'exchange' | 'endpoint' | 'rename' | 'translated'>;

/** Receives the end of an attempt: exactly one of these calls, or none after an abort. */
export interface AttemptOwner {
  /** The client gets the whole answer. @param isBodyFree the memory of the body can be reused. */
  onComplete(isBodyFree: boolean): void;
  /**
   * The attempt failed before a byte of an answer reached the client.
   * @param upstream headers of the upstream's answer that the client gets with the error; null: none.
   */
  onFailure(error: ProxyError, upstream: readonly string[] | null): void;
  /** The attempt failed, and no other attempt can follow: the answer has begun, or no deployment is to blame. */
  onBreak(error: ProxyError): void;
}

/**
 * Receives the upstream's answer to one attempt. Every attempt ends in {@link Attempt.complete},
 * {@link Attempt.reject}, {@link Attempt.interrupt} or {@link Attempt.abort}.
 */
export class Attempt implements UpstreamHandler, AttemptState {
  call: SentCall | undefined;
  isOver = false;
  readonly #context: RequestContext;
  readonly #traced: TracedCall | null;
  readonly #owner: AttemptOwner;
  #answer: Answer | undefined;

  constructor(context: RequestContext, traced: TracedCall | null, owner: AttemptOwner) {
    this.#context = context;
    this.#traced = traced;
    this.#owner = owner;
  }

  /** Ends the attempt without a result: the client has gone, or the request ends with an error. */
  abort(): void {
    this.#end();
  }

  complete(): void {
    if (this.#end()) this.#owner.onComplete(this.call?.isBodyFree === true);
  }

  reject(error: ProxyError, upstream: readonly string[] | null = null): void {
    if (this.#end()) this.#owner.onFailure(error, upstream);
  }

  interrupt(error: ProxyError): void {
    if (this.#end()) this.#owner.onBreak(error);
  }

  /** Ends the attempt and its call. @returns false: the attempt has ended before. */
  #end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.call?.abort();
    this.#answer?.readUsage?.();
    return true;
  }

  onHead(status: number, headers: readonly string[]): void {
    const { call } = this;
    if (call === undefined) return;
    try {
      this.#traced?.head(status, headers);
      const { exchange, endpoint, rename, translated } = this.#context;
      this.#answer = answerOf({ exchange, endpoint, rename, translated, call, status, headers, attempt: this });
    } catch (error) {
      this.#fault(error);
    }
  }

  onData(chunk: Buffer): void {
    const { exchange } = this.#context;
    if (exchange.firstByteAt === 0) exchange.firstByteAt = performance.now();
    try {
      this.#traced?.data(chunk);
      this.#answer?.data(chunk);
    } catch (error) {
      this.#fault(error);
    }
  }

  onEnd(): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    try {
      this.#traced?.end();
      this.#answer?.end();
      this.complete();
    } catch (error) {
      this.#fault(error);
    }
  }

  onError(error: ProxyError): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    try {
      this.#traced?.fail(error);
      if (this.#answer === undefined) this.reject(error);
      else this.#answer.fail(error);
    } catch (fault) {
      this.#fault(fault);
    }
  }

  /**
   * Ends the attempt after an exception: the answer cannot be forwarded, or this proxy has a bug. After a failure of
   * the upstream, another attempt may follow if no answer has begun. In all other cases, also ends the request. Without
   * this function, an exception in a callback of the upstream client would end the process.
   */
  #fault(thrown: unknown): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    const error = toProxyError(thrown);
    if (error.failure !== null && !exchange.response.headersSent) {
      this.reject(error);
      return;
    }
    this.interrupt(error);
    breakOff(exchange, error);
  }
}
