/**
 * Finds the kind of an answer by its first bytes: if it has no content type, has a text type where only JSON is valid,
 * or has the status 204.
 */
import type { ProxyError } from '../../errors/proxy-error.js';
import { notJsonFault } from '../../upstream/classify.js';
import type { Answer, AnswerContext } from './answer.js';
import { EventAnswer } from './event-answer.js';
import { JsonAnswer } from './json-answer.js';
import { RawAnswer } from './raw-answer.js';

/** An answer of unknown type. The first chunk decides: JSON, events, raw, or an error if the endpoint has only JSON. */
export class UntypedAnswer implements Answer {
  readonly #context: AnswerContext;
  #answer: Answer | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  /**
   * @throws {ProxyError} 502: the endpoint answers in JSON, and this answer is neither JSON nor
   *   events; or a JSON answer is larger than the limit.
   */
  data(chunk: Buffer): void {
    this.#answer ??= this.#answerOf(chunk);
    this.#answer.data(chunk);
  }

  /** Ends the answer. @throws {ProxyError} 502: the answer is empty, and the endpoint answers in JSON. */
  end(): void {
    this.#answer ??= this.#answerOf(Buffer.alloc(0));
    this.#answer.end();
  }

  fail(error: ProxyError): void {
    this.#answer ??= new RawAnswer(this.#context);
    this.#answer.fail(error);
  }

  readUsage(): void {
    this.#answer?.readUsage?.();
  }

  #answerOf(chunk: Buffer): Answer {
    const { endpoint, status, exchange } = this.#context;
    const beginning = chunk.toString('latin1', 0, 64);
    if (/^\s*[{[]/.test(beginning)) return new JsonAnswer(this.#context);
    if (/^(?:data|event|id|retry)?:/.test(beginning)) return new EventAnswer(this.#context);
    if (endpoint.answersJson && exchange.selection !== null) throw notJsonFault(status, chunk, exchange.selection);
    return new RawAnswer(this.#context);
  }
}
