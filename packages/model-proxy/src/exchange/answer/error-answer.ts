/** Answers of upstreams with an error status. The client gets the error in the form of the API that it uses. */
import { performance } from 'node:perf_hooks';
import { ChunkList } from '../../json/chunk-list.js';
import { errorOfFailedAnswer } from '../../upstream/classify.js';
import type { Answer, AnswerContext } from './answer.js';

/** The proxy reads an error's body only up to this size, because a hostile body may never end. */
const MAX_ERROR_BYTES = 1_048_576;

/** An answer with a status outside of 2xx, collected until it is complete or has 1 MiB. */
export class ErrorAnswer implements Answer {
  readonly #context: AnswerContext;
  readonly #received = new ChunkList();
  #length = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  data(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#length += chunk.length;
    if (this.#length < MAX_ERROR_BYTES) return;
    this.#context.exchange.answeredAt = performance.now();
    this.end();
  }

  end(): void {
    const { exchange, status, headers, attempt } = this.#context;
    if (exchange.selection === null) return;
    const body = Buffer.concat(this.#received.chunks);
    attempt.reject(errorOfFailedAnswer(status, headers, body, exchange.selection), headers);
  }

  /** Reports the upstream's status, which says more than the fault that cut off the body. */
  fail(): void {
    this.end();
  }
}
