/** Forwards answers that the proxy does not interpret, such as audio and images. */
import type { ProxyError } from '../../errors/proxy-error.js';
import { bodyHeaderOf, pass, type Answer, type AnswerContext } from './answer.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import { endAnswer } from './refusal.js';

/** The upstream's headers that a client needs to use the body. */
const bodyHeaders = ['content-type', 'content-length', 'content-disposition', 'cache-control'];

/** An answer that the proxy does not interpret, whatever its content type. */
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

  /**
   * If the answer has not begun, another attempt follows, or the client gets the error. Otherwise closes
   * the connection, which shows the client that the answer is incomplete.
   */
  fail(error: ProxyError): void {
    const { exchange, attempt } = this.#context;
    if (!exchange.response.headersSent) {
      attempt.reject(error);
      return;
    }
    attempt.interrupt(error);
    exchange.error = error;
    exchange.response.destroy();
  }

  /** Sends the head with the first byte, or at the end of an empty body. Until then, the client can get an error. */
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
