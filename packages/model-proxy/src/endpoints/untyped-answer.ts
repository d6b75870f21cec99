/** An answer whose head does not say what it is: its first bytes do. */
import type { ProxyError } from '../errors.js';
import type { Answer, AnswerContext } from './answer.js';
import { EventAnswer } from './event-answer.js';
import { JsonAnswer } from './json-answer.js';
import { RawAnswer } from './raw-answer.js';

/** JSON and events are taken for what they are, as clients take them; everything else is passed on as it comes. */
export class UntypedAnswer implements Answer {
  readonly #context: AnswerContext;
  #answer: Answer | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  data(chunk: Buffer): void {
    this.#answer ??= this.#answerOf(chunk.toString('latin1', 0, 64));
    this.#answer.data(chunk);
  }

  end(): void {
    this.#answer ??= new RawAnswer(this.#context);
    this.#answer.end();
  }

  fail(error: ProxyError): void {
    this.#answer ??= new RawAnswer(this.#context);
    this.#answer.fail(error);
  }

  #answerOf(beginning: string): Answer {
    if (/^\s*\{/.test(beginning)) return new JsonAnswer(this.#context);
    if (/^(?:data|event|id|retry)?:/.test(beginning)) return new EventAnswer(this.#context);
    return new RawAnswer(this.#context);
  }
}
