/**
 * Streams of events. Each event goes to the client as soon as it is complete, except for comments before the
 * first one. Only the name of the model, the id of a response and secrets in an error may change, and the proxy
 * may omit an event with the usage.
 */
import type { Socket } from 'node:net';
import { toProxyError, type ProxyError } from '../../errors/proxy-error.js';
import { errorOfFailedAnswer, interruptionFault } from '../../upstream/classify.js';
import { secretMask } from '../../upstream/secret-mask.js';
import { createEventRewriter, renderErrorEvent, type EventRewriter } from '../../sse/event-rewriter.js';
import { HeldEvents } from '../../sse/held-events.js';
import { bodyHeaderOf, pass, type Answer, type AnswerContext } from './answer.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import { breakOff, endAnswer } from './refusal.js';
import { withClientIdsInEvents } from './response-ids.js';
import { MAX_SUCCESS_ERROR_BYTES, statusOfErrorEvent } from './error-in-success.js';
import { findUsage, joinUsage, takeFirstUsage, type Usage } from './usage.js';

const errorKey = Buffer.from('"error"');

/** The proxy treats a longer beginning of a stream as content. */
const MAX_EMPTY_BYTES = 1024;
/** Matches a line that is no part of an answer: empty, a comment, a ping, or the end of the answer. */
const emptyLine =
  /^(?:|:.*|event: ?(?:ping|message_stop)|data: ?(?:\[DONE\]|\{\s*"type"\s*:\s*"(?:ping|message_stop)"\s*\}))$/;

/** An answer that is a stream of server-sent events. */
export class EventAnswer implements Answer {
  readonly #context: AnswerContext;
  /** Also finds the ends of events and an incomplete stream, even if no name changes. */
  readonly #rewriter: EventRewriter;
  /** The last write. It may contain only `[DONE]`; then the write before may contain the usage. */
  #last: Buffer | string = '';
  #beforeLast: Buffer | string = '';
  /** The usage in Anthropic's first event, which has the tokens of the request; null: not arrived, or another API. */
  #startUsage: Usage | null = null;
  /** Whether no event with a part of the answer has come yet. */
  #isEmpty = true;
  /** The comments before the first event with a part of the answer; null: there are none, or the client has them. */
  #held: HeldEvents | null = null;
  /** Whether {@link #sendChunk} has paused the upstream until the client reads. */
  #isPaused = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    const { endpoint, rename } = context;
    const rewriter = createEventRewriter({
      modelPaths: endpoint.answerModel,
      model: rename ?? ((reported) => reported),
      hidesUsage: context.exchange.hidesUsage,
    });
    this.#rewriter = withClientIdsInEvents(context, rewriter);
    context.exchange.streamed = true;
  }

  data(chunk: Buffer): void {
    const { response } = this.#context.exchange;
    const { socket } = response;
    // Only Node can write if the response has no socket (it waits for the answer to an earlier request
    // of its connection), and for HTTP/1.0, which has no chunks.
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
    const { exchange, attempt } = this.#context;
    if (attempt.isOver) return;
    // An empty stream is also a fault, because every answer has at least one event.
    const interruption = this.#isEmpty ? 'answer' : this.#rewriter.interruption;
    if (interruption !== null && exchange.selection !== null) {
      const fault = interruptionFault(interruption, exchange.selection);
      if (interruption === 'error') this.#endWithError(fault);
      else this.fail(fault);
      return;
    }
    this.#sendHead();
    endAnswer(exchange);
  }

  /**
   * Ends the stream. If no answer has begun, passes the error to the attempt. If the client
   * has the whole answer, sends no error. Otherwise sends the error as the next event, and drops an incomplete
   * event, so that the client can read the error.
   */
  fail(error: ProxyError): void {
    const { exchange, attempt } = this.#context;
    const { response } = exchange;
    if (!response.headersSent) {
      attempt.reject(error);
      return;
    }
    // The client has the whole answer, so an error would be wrong.
    if (this.#rewriter.isDone && !this.#isEmpty) {
      attempt.complete();
      endAnswer(exchange);
      return;
    }
    response.write(renderErrorEvent(error, exchange.api, exchange.id));
    this.#endWithError(error);
  }

  /** Ends a stream whose last event is an error. */
  #endWithError(error: ProxyError): void {
    const { exchange, attempt } = this.#context;
    attempt.interrupt(error);
    exchange.error = error;
    endAnswer(exchange);
  }

  #send(events: readonly Buffer[]): void {
    const [first] = events;
    if (first === undefined) return;
    const { exchange, attempt } = this.#context;
    // Joins the events for a single write, because each write becomes a chunk of the transfer coding.
    const bytes = masked(this.#context, events.length === 1 ? first : Buffer.concat(events));
    this.#isEmpty &&= isEmpty(bytes);
    if (this.#isEmpty && this.#rewriter.isDone && exchange.selection !== null) {
      this.fail(interruptionFault('answer', exchange.selection));
      return;
    }
    if (!exchange.response.headersSent) {
      if (attempt.isOver) return;
      if (this.#isEmpty) {
        this.#held ??= new HeldEvents(() => this.#sendHeldInTime());
        if (!this.#held.add(bytes)) this.#sendHeld();
        return;
      }
      const error = this.#errorIn(bytes);
      if (error !== undefined) {
        attempt.reject(error, this.#context.headers);
        return;
      }
      this.#sendHeld();
      this.#sendHead();
    }
    this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    this.#remember(bytes);
    pass(this.#context, bytes);
  }

  #sendHeld(): void {
    const events = this.#held?.take();
    if (events === undefined || this.#context.attempt.isOver) return;
    this.#held = null;
    this.#sendHead();
    this.#write(events);
  }

  /** Sends the comments that have waited for the maximum time. A timer calls this, so no caller catches exceptions. */
  #sendHeldInTime(): void {
    const { exchange, attempt } = this.#context;
    try {
      this.#sendHeld();
    } catch (thrown) {
      const error = toProxyError(thrown);
      attempt.interrupt(error);
      breakOff(exchange, error);
    }
  }

  /**
   * Writes a chunk of the transfer coding (RFC 9112 §7.1) directly to the socket. Node would make
   * three writes for length, bytes and end, and join them later. For most events, these writes are
   * most of the cost.
   */
  #sendChunk(event: string, socket: Socket): void {
    this.#remember(event);
    if (socket.write(`${event.length.toString(16)}\r\n${event}\r\n`, 'latin1') || this.#isPaused) return;
    const { call } = this.#context;
    this.#isPaused = true;
    call.pause();
    socket.once('drain', () => {
      this.#isPaused = false;
      call.resume();
    });
  }

  #sendHead(): void {
    const { exchange, status, headers } = this.#context;
    if (exchange.response.headersSent) return;
    const ours = answerHeaders(exchange, headers);
    // `x-accel-buffering` tells an nginx in front of this proxy not to buffer the events.
    ours.push('content-type', bodyHeaderOf(this.#context, 'content-type') ?? 'text/event-stream');
    ours.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
    writeHead(exchange.response, status, ours);
  }

  /**
   * Returns the error if the first event with data is an error. The client gets the error as a status, not as a
   * stream.
   */
  #errorIn(events: Buffer): ProxyError | undefined {
    if (events.length > MAX_SUCCESS_ERROR_BYTES || !events.includes(errorKey)) return undefined;
    const first = events
      .toString()
      .split(/\r?\n\r?\n/)
      .find((event) => !hasOnlyEmptyLines(event));
    const data = /^(?:(?:event)?:[^\r\n]*\r?\n)*data: ?(\{.*\})/s.exec(first ?? '')?.[1];
    if (data === undefined) return undefined;
    const status = statusOfErrorEvent(data);
    const { exchange, headers } = this.#context;
    if (status === undefined || exchange.selection === null) return undefined;
    return errorOfFailedAnswer(status, headers, Buffer.from(data), exchange.selection);
  }

  /** Stores the last two writes, which may contain the usage. Reads the usage of Anthropic's first event. */
  #remember(written: Buffer | string): void {
    const { endpoint, exchange } = this.#context;
    exchange.eventCount = this.#rewriter.eventCount;
    this.#beforeLast = this.#last;
    this.#last = written;
    if (endpoint.api !== 'anthropic' || this.#startUsage !== null) return;
    const found = takeFirstUsage(bytesOf(written));
    if (found === null) return;
    this.#startUsage = found.usage;
    this.#last = found.rest;
  }

  readUsage(): void {
    const { exchange } = this.#context;
    // The attempt has ended: no comments follow, and the timer stops.
    this.#held?.take();
    let last: Usage | null = null;
    for (const piece of [this.#rewriter.hiddenUsage ?? '', this.#last, this.#beforeLast])
      last ??= findUsage(bytesOf(piece));
    exchange.usage = this.#startUsage === null ? last : joinUsage(this.#startUsage, last, exchange.eventCount);
  }
}

const bytesOf = (written: Buffer | string) => (typeof written === 'string' ? Buffer.from(written, 'latin1') : written);

/** Returns whether events have no part of an answer. */
function isEmpty(events: Buffer): boolean {
  if (events.length > MAX_EMPTY_BYTES) return false;
  return hasOnlyEmptyLines(events.toString('latin1'));
}

function hasOnlyEmptyLines(events: string): boolean {
  return events.split(/[\r\n]+/).every((line) => emptyLine.test(line));
}

/** Masks the deployment's secrets in an error event, as in errors with a status. */
function masked({ exchange }: AnswerContext, bytes: Buffer): Buffer {
  if (exchange.selection === null || !bytes.includes(errorKey)) return bytes;
  const text = bytes.toString('latin1');
  const safe = secretMask(exchange.selection.deployment)(text);
  return safe === text ? bytes : Buffer.from(safe, 'latin1');
}
