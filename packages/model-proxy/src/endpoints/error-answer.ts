/** An answer with a status that says no: kept until it is whole, told in OpenAI's shape. */
import { performance } from 'node:perf_hooks';
import { ChunkList } from '../json/chunk-list.js';
import { errorOfStatus } from '../upstream/classify.js';
import type { Answer, AnswerContext } from './answer.js';
import { refuse } from './refusal.js';

/** Part of an error's body that is read. Longer ones are no messages, and may never end. */
const MAX_ERROR_BYTES = 1_048_576;

/** Any answer whose status is none of success. */
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
    const { call, exchange } = this.#context;
    call.abort();
    exchange.answeredAt = performance.now();
    this.end();
  }

  end(): void {
    const { exchange, status, headers } = this.#context;
    if (exchange.selection === null) return;
    refuse(exchange, errorOfStatus(status, headers, Buffer.concat(this.#received.chunks), exchange.selection), headers);
  }

  /** The status says more than that its explanation broke off. */
  fail(): void {
    this.end();
  }
}
