/** A stream of events: each one goes on as soon as it is whole, with the model's name as it is told here, and is otherwise what it was. */
import type { Socket } from 'node:net';
import type { ProxyError } from '../errors.js';
import { errorOfStatus, interruptionFault } from '../upstream/classify.js';
import { createEventRewriter, renderErrorEvent, type EventRewriter } from '../upstream/sse.js';
import { bodyHeaderOf, pass, type Answer, type AnswerContext } from './answer.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import { endAnswer, refuse } from './refusal.js';
import { MAX_SUCCESS_ERROR_BYTES, statusOfErrorEvent } from './error-in-success.js';
import { findUsage } from './usage.js';

const errorKey = Buffer.from('"error"');

export class EventAnswer implements Answer {
  readonly #context: AnswerContext;
  /** Where no name changes, too: it knows where events end, and whether the stream is whole. */
  readonly #rewriter: EventRewriter;
  /** The last two pieces: the tokens are counted in one of the last events, and the very last may be `[DONE]`. */
  #last: Buffer | string = '';
  #beforeLast: Buffer | string = '';
  /** The client does not read as fast as the upstream writes. */
  #isHeld = false;

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
    const { response } = this.#context.exchange;
    const { socket } = response;
    // Without a socket it waits for the answer to an earlier request of its connection; HTTP/1.0 knows no chunks.
    if (socket !== null && response.headersSent && response.chunkedEncoding) {
      const event = this.#rewriter.pushLikely(chunk);
      if (event !== undefined) {
        this.#sendChunk(event, socket);
        return;
      }
    }
    this.#send(this.#rewriter.push(chunk));
  }

  end(): void {
    this.#send(this.#rewriter.finish());
    const { exchange } = this.#context;
    if (exchange.error !== null) return;
    // Not even a comment came: nobody asks a model for nothing.
    const interruption = exchange.firstByteAt === 0 ? 'answer' : this.#rewriter.interruption;
    if (interruption !== null && exchange.selection !== null) {
      this.fail(interruptionFault(interruption, exchange.selection));
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

  /**
   * A chunk of the transfer coding (RFC 9112 §7.1) in one write. Node writes its length, its bytes and its end by themselves, and joins
   * them again by a slower way: for most events that is most of their cost.
   */
  #sendChunk(event: string, socket: Socket): void {
    this.#beforeLast = this.#last;
    this.#last = event;
    if (socket.write(`${event.length.toString(16)}\r\n${event}\r\n`, 'latin1') || this.#isHeld) return;
    const { call } = this.#context;
    this.#isHeld = true;
    call.pause();
    socket.once('drain', () => {
      this.#isHeld = false;
      call.resume();
    });
  }

  #sendHead(): void {
    const { exchange, status, headers } = this.#context;
    if (exchange.response.headersSent) return;
    const ours = answerHeaders(exchange, headers);
    // nginx before us would collect the events otherwise.
    ours.push('content-type', bodyHeaderOf(this.#context, 'content-type') ?? 'text/event-stream');
    ours.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
    writeHead(exchange.response, status, ours);
  }

  /** A stream that begins with an error is one, with a status of its own: nothing has been sent yet. */
  #errorIn(event: Buffer): ProxyError | undefined {
    if (event.length > MAX_SUCCESS_ERROR_BYTES || !event.includes(errorKey)) return undefined;
    const data = /^(?:event:[^\r\n]*\r?\n)?data: ?(\{.*\})/s.exec(event.toString().split(/\r?\n\r?\n/)[0] ?? '')?.[1];
    if (data === undefined) return undefined;
    const status = statusOfErrorEvent(data);
    const { exchange, headers } = this.#context;
    if (status === undefined || exchange.selection === null) return undefined;
    return errorOfStatus(status, headers, Buffer.from(data), exchange.selection);
  }

  #count(): void {
    for (const piece of [this.#last, this.#beforeLast]) {
      const usage = findUsage(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
      if (usage === null) continue;
      this.#context.exchange.usage = usage;
      return;
    }
  }
}
