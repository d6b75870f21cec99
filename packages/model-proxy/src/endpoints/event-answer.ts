/** A stream of events: each one goes on as soon as it is whole, with the model's name as it is told here, and is otherwise what it was. */
import type { ProxyError } from '../errors.js';
import { errorOfStatus, interruptionFault } from '../upstream/classify.js';
import { createEventRewriter, renderErrorEvent, type EventRewriter } from '../upstream/sse.js';
import { headerOf, pass, type Answer, type AnswerContext } from './answer.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import { endAnswer, refuse } from './refusal.js';
import { MAX_TOLD_ERROR_BYTES, statusOfErrorEvent } from './told-error.js';
import { findUsage } from './usage.js';

const errorKey = Buffer.from('"error"');

export class EventAnswer implements Answer {
  readonly #context: AnswerContext;
  /** Where no name changes, too: it knows where events end, and whether the stream is whole. */
  readonly #rewriter: EventRewriter;
  /** The last two pieces: the tokens are counted in one of the last events, and the very last may be `[DONE]`. */
  #last: Buffer | undefined;
  #beforeLast: Buffer | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
    const { endpoint, rename } = context;
    this.#rewriter = createEventRewriter({
      modelPaths: endpoint.answerModel,
      model: rename ?? ((reported) => reported),
    });
    context.exchange.streamed = true;
  }

  data(chunk: Buffer): void {
    this.#send(this.#rewriter.push(chunk));
  }

  end(): void {
    this.#send(this.#rewriter.finish());
    const { exchange } = this.#context;
    if (exchange.error !== null) return;
    // Not even a comment came: nobody asks a model for nothing.
    const interruption = exchange.firstByteAt === 0 ? 'answer' : this.#rewriter.interruption;
    if (interruption !== null && exchange.route !== null) {
      this.fail(interruptionFault(interruption, exchange.route));
      return;
    }
    this.#sendHead();
    this.#count();
    endAnswer(exchange);
  }

  /** An event that is not whole is not sent: what a client has read so far it understands, and the next thing is the error. */
  fail(error: ProxyError): void {
    const { exchange } = this.#context;
    const { response } = exchange;
    if (!response.headersSent) {
      refuse(exchange, error);
      return;
    }
    exchange.error = error;
    this.#count();
    response.write(renderErrorEvent(error));
    endAnswer(exchange);
  }

  #send(events: readonly Buffer[]): void {
    const [first] = events;
    if (first === undefined) return;
    const { exchange, call } = this.#context;
    if (!exchange.response.headersSent) {
      if (exchange.error !== null) return;
      const error = this.#errorIn(first);
      if (error !== undefined) {
        call.abort();
        refuse(exchange, error, this.#context.headers);
        return;
      }
      this.#sendHead();
    }
    // One write for what came together: each has a frame of its own around it.
    const bytes = events.length === 1 ? first : Buffer.concat(events);
    this.#beforeLast = this.#last;
    this.#last = bytes;
    pass(this.#context, bytes);
  }

  #sendHead(): void {
    const { exchange, status, headers } = this.#context;
    if (exchange.response.headersSent) return;
    const ours = answerHeaders(exchange, headers);
    // nginx before us would collect the events otherwise.
    ours.push('content-type', headerOf(headers, 'content-type') ?? 'text/event-stream');
    ours.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
    writeHead(exchange.response, status, ours);
  }

  /** A stream that begins with an error is one, with a status of its own: nothing has been sent yet. */
  #errorIn(event: Buffer): ProxyError | undefined {
    if (event.length > MAX_TOLD_ERROR_BYTES || !event.includes(errorKey)) return undefined;
    const data = /^(?:event:[^\r\n]*\r?\n)?data: ?(\{.*\})/s.exec(event.toString().split(/\r?\n\r?\n/)[0] ?? '')?.[1];
    if (data === undefined) return undefined;
    const status = statusOfErrorEvent(data);
    const { exchange, headers } = this.#context;
    if (status === undefined || exchange.route === null) return undefined;
    return errorOfStatus(status, headers, Buffer.from(data), exchange.route);
  }

  #count(): void {
    for (const piece of [this.#last, this.#beforeLast]) {
      if (piece === undefined) continue;
      const usage = findUsage(piece);
      if (usage === null) continue;
      this.#context.exchange.usage = usage;
      return;
    }
  }
}
