/** An answer whose head does not say what it is, or calls it text where only JSON makes sense: its first bytes say what it is. */
import type { ProxyError } from '../errors.js';
import { notJsonFault } from '../upstream/classify.js';
import type { Answer, AnswerContext } from './answer.js';
import { EventAnswer } from './event-answer.js';
import { JsonAnswer } from './json-answer.js';
import { RawAnswer } from './raw-answer.js';

/** JSON and events are what they look like, as for clients. Other answers are forwarded, unless the endpoint has only those two. */
export class UntypedAnswer implements Answer {
  readonly #context: AnswerContext;
  #answer: Answer | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  /** @throws {ProxyError} 502: the endpoint answers in JSON, and this is something else. */
  data(chunk: Buffer): void {
    this.#answer ??= this.#answerOf(chunk);
    this.#answer.data(chunk);
  }

  /** @throws {ProxyError} 502: as {@link data}. A 204 has no body by definition. */
  end(): void {
    this.#answer ??= this.#context.status === 204 ? new RawAnswer(this.#context) : this.#answerOf(Buffer.alloc(0));
    this.#answer.end();
  }

  fail(error: ProxyError): void {
    this.#answer ??= new RawAnswer(this.#context);
    this.#answer.fail(error);
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
