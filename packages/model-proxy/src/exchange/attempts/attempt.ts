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

/** Receives the result of an attempt: exactly one of these calls, or none after an abort. */
export interface AttemptOwner {
  /** The answer has begun to reach the client, or has reached it completely. */
  onSuccess(): void;
  /**
   * The attempt failed before a byte of an answer reached the client.
   * @param upstream headers of the upstream's answer; null: it did not answer.
   */
  onFailure(error: ProxyError, upstream: readonly string[] | null): void;
  /** The answer broke off after its beginning had reached the client. */
  onBreak(error: ProxyError): void;
  /** The upstream's answer has ended. @param isBodyFree the memory of the body can be reused. */
  onEnd(isBodyFree: boolean): void;
}

/** Handles the upstream's answer to one attempt. */
export class Attempt implements UpstreamHandler, AttemptState {
  call: SentCall | undefined;
  isOver = false;
  readonly #context: RequestContext;
  readonly #traced: TracedCall | null;
  readonly #owner: AttemptOwner;
  #answer: Answer | undefined;
  #hasSucceeded = false;

  constructor(context: RequestContext, traced: TracedCall | null, owner: AttemptOwner) {
    this.#context = context;
    this.#traced = traced;
    this.#owner = owner;
  }

  /** Ends the attempt without a result. */
  abort(): void {
    this.isOver = true;
    this.call?.abort();
  }

  reject(error: ProxyError, upstream: readonly string[] | null = null): void {
    if (this.isOver) return;
    this.abort();
    this.#owner.onFailure(error, upstream);
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
    if (!this.#hasSucceeded && exchange.response.headersSent) this.#succeed();
  }

  onEnd(): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    try {
      this.#traced?.end();
      this.#answer?.end();
    } catch (error) {
      this.#fault(error);
    }
    if (!this.#hasSucceeded) this.#succeed();
    if (!this.isOver) this.#owner.onEnd(this.call?.isBodyFree === true);
  }

  onError(error: ProxyError): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    try {
      this.#traced?.fail(error);
      if (exchange.response.headersSent) this.#owner.onBreak(error);
      if (this.#answer === undefined) this.reject(error);
      else this.#answer.fail(error);
    } catch (fault) {
      this.#fault(fault);
    }
  }

  #succeed(): void {
    if (this.isOver) return;
    this.#hasSucceeded = true;
    this.#owner.onSuccess();
  }

  /**
   * Handles an answer that cannot be forwarded, and bugs in this proxy. Ends only this request: an
   * exception in a callback of the upstream client would end the process.
   */
  #fault(thrown: unknown): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    const error = toProxyError(thrown);
    if (error.failure !== null && !exchange.response.headersSent) {
      this.reject(error);
      return;
    }
    this.isOver = true;
    breakOff(exchange, error);
  }
}
