/** An answer that nobody has to understand (sound, pictures): its bytes as they come. */
import type { ProxyError } from '../errors.js';
import { bodyHeaderOf, pass, type Answer, type AnswerContext } from './answer.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import { endAnswer, refuse } from './refusal.js';

/** Of the upstream's headers, those that a body which is passed on keeps its meaning by. */
const bodyHeaders = ['content-type', 'content-length', 'content-disposition', 'cache-control'];

/** Any answer that is neither JSON nor events. */
export class RawAnswer implements Answer {
  readonly #context: AnswerContext;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  data(chunk: Buffer): void {
    this.#sendHead();
    pass(this.#context, chunk);
  }

  end(): void {
    this.#sendHead();
    endAnswer(this.#context.exchange);
  }

  /** Nothing can be said any more once it has begun; a client sees by the connection's end that it is not whole. */
  fail(error: ProxyError): void {
    const { exchange } = this.#context;
    if (!exchange.response.headersSent) {
      refuse(exchange, error);
      return;
    }
    exchange.error = error;
    exchange.response.destroy();
  }

  /** With the first byte: until then a failure can still be told. */
  #sendHead(): void {
    const { exchange, status, headers } = this.#context;
    if (exchange.response.headersSent) return;
    const ours = answerHeaders(exchange, headers);
    for (const name of bodyHeaders) {
      const value = bodyHeaderOf(this.#context, name);
      if (value !== undefined) ours.push(name, value);
    }
    writeHead(exchange.response, status, ours);
  }
}
