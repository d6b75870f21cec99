/** Forwards JSON answers. The proxy collects them to find errors, the usage and the model's name. */
import { ChunkList } from '../../json/chunk-list.js';
import { bytesBetween } from '../../json/text.js';
import { rewriteAnswer, rewriteText, type AnswerRewrite } from '../../json/rewrite-answer.js';
import { verifiedMembers, type FoundMembers } from '../../json/verified-members.js';
import { responseTooLarge } from '../../errors/body.js';
import type { ProxyError } from '../../errors/proxy-error.js';
import { errorOfFailedAnswer, interruptionFault, notJsonFault } from '../../upstream/classify.js';
import { bodyHeaderOf, headerOf, type Answer, type AnswerContext } from './answer.js';
import { addAnswerHeaders } from './answer-headers.js';
import { sendHeaders } from './header-sink.js';
import { endAnswer } from './refusal.js';
import { withClientIds, withClientIdsInText } from './response-ids.js';
import { statusOfErrorAnswer } from './error-in-success.js';
import { findUsage, findUsageInChunks } from './usage.js';

/** Answers up to this size are read as a text, and sent in one write with their head. */
const JOINED_BYTES = 16_384;
/** Number of bytes at each end of an answer in which the proxy looks for a character other than white space. */
const EDGE_BYTES = 1024;
/**
 * Answers up to this size are always verified, which costs 2 µs for 1 KB. A gateway that answers with
 * a text instead of JSON sends a short text.
 */
const PARSED_BYTES = 4096;
/** The error for an answer that is not JSON needs only this number of its first bytes. */
const MAX_REPORTED_BYTES = 65_536;
/** Maximum size of an answer that is only a string, a number, a boolean or null. */
const MAX_SCALAR_BYTES = 65_536;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** A JSON answer, collected until it is complete. */
export class JsonAnswer implements Answer {
  readonly #context: AnswerContext;
  readonly #received = new ChunkList();
  #length = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  /** @throws {ProxyError} 502: the answer is larger than the limit, or its head announces that. */
  data(chunk: Buffer): void {
    const { exchange, headers } = this.#context;
    const { maxResponseBytes } = exchange.proxy.settings;
    // Rejects an answer with its first chunk if its announced length is too large.
    const announced = this.#length === 0 ? Number(headerOf(headers, 'content-length') ?? 0) : 0;
    const bytes = this.#length === 0 ? withoutByteOrderMark(chunk) : chunk;
    this.#received.push(bytes);
    this.#length += bytes.length;
    if (this.#length > maxResponseBytes || announced > maxResponseBytes)
      throw responseTooLarge(maxResponseBytes, Math.max(announced, this.#length));
  }

  end(): void {
    const { exchange, endpoint, status, headers, attempt } = this.#context;
    const { selection } = exchange;
    const { chunks } = this.#received;
    const bytes = this.#length <= JOINED_BYTES ? this.#lastBytes(this.#length) : null;
    // latin1 maps each byte to one character and back, so the bytes do not change.
    const text = bytes?.toString('latin1') ?? null;
    const errorStatus = statusOfErrorAnswer(chunks, this.#length, text ?? this.#edge(0));
    if (errorStatus !== undefined && selection !== null) {
      attempt.reject(errorOfFailedAnswer(errorStatus, headers, Buffer.concat(chunks), selection), headers);
      return;
    }
    if (selection !== null && this.#isCutOff()) {
      this.fail(interruptionFault('object', selection));
      return;
    }
    const found = bytes !== null && this.#length <= PARSED_BYTES ? verifiedMembers(bytes, endpoint.answerModel) : null;
    if (selection !== null && found === null && !this.#isJson(text)) {
      this.fail(notJsonFault(status, bytesBetween(chunks, this.#length, 0, MAX_REPORTED_BYTES), selection));
      return;
    }
    exchange.usage = text === null ? findUsageInChunks(chunks) : findUsage(text);
    if (bytes !== null && text !== null && exchange.request.complete) this.#sendText(bytes, text, found);
    else this.#sendChunks();
  }

  /** Sends a small answer in one write with its head. Node joins head and body if both are text. */
  #sendText(bytes: Buffer, text: string, found: FoundMembers | null): void {
    const { response } = this.#context.exchange;
    const rewrite = this.#rewrite();
    const rewritten = rewrite === null ? text : rewriteText(bytes, text, rewrite, found);
    const body = withClientIdsInText(this.#context, rewritten);
    this.#writeHead(body.length);
    // `write` joins the text with the head. `end` with a text would make two writes.
    response.write(body, 'latin1');
    response.socket?.uncork();
    response.end();
  }

  /** Sends a large answer, or one whose request is incomplete. */
  #sendChunks(): void {
    const { exchange } = this.#context;
    const { chunks } = this.#received;
    const rewrite = this.#rewrite();
    const body = withClientIds(this.#context, rewrite === null ? [...chunks] : rewriteAnswer(chunks, rewrite));
    let length = 0;
    for (const piece of body) length += piece.length;
    this.#writeHead(length);
    // Backpressure would save no memory here: the whole answer is in memory.
    for (const piece of body) exchange.response.write(piece);
    endAnswer(exchange);
  }

  /** Returns the changes to the answer; null: there are none. */
  #rewrite(): AnswerRewrite | null {
    const { exchange, endpoint, rename } = this.#context;
    const nullable = exchange.proxy.settings.fillNullFields ? endpoint.nullable : null;
    return rename === null && nullable === null ? null : { modelPaths: endpoint.answerModel, model: rename, nullable };
  }

  #writeHead(length: number): void {
    const { exchange, status, headers } = this.#context;
    sendHeaders(exchange.response, status, (sink) => {
      addAnswerHeaders(sink, exchange, headers);
      sink.add('content-type', bodyHeaderOf(this.#context, 'content-type') ?? 'application/json');
      sink.add('content-length', String(length));
    });
  }

  fail(error: ProxyError): void {
    this.#context.attempt.reject(error);
  }

  /**
   * Returns whether the answer is incomplete JSON that ended with the connection (RFC 9112 §6.3,
   * HTTP/1.0). The end of the connection does not prove that the answer is complete, because a
   * crashed upstream also causes it.
   */
  #isCutOff(): boolean {
    const { headers } = this.#context;
    if (headerOf(headers, 'content-length') !== undefined || headerOf(headers, 'transfer-encoding') !== undefined)
      return false;
    return /^\s*[[{]/.test(this.#edge(0)) && !/[}\]]\s*$/.test(this.#edge(this.#length - EDGE_BYTES));
  }

  /**
   * Returns whether the answer is JSON. If an object or an array is larger than
   * {@link PARSED_BYTES}, compares only its first and its last character: to parse an embedding of
   * 30 KB takes longer than everything else that the proxy does for the request.
   * @param text the answer as latin1, which is JSON exactly if the answer is; null: the answer is not small.
   */
  #isJson(text: string | null): boolean {
    if (this.#length > PARSED_BYTES) {
      const firstCharacter = /^\s*(.)/.exec(this.#edge(0))?.[1] ?? '';
      const lastCharacter = /(.)\s*$/.exec(this.#edge(this.#length - EDGE_BYTES))?.[1] ?? '';
      if (firstCharacter === '{' || firstCharacter === '[')
        return lastCharacter === (firstCharacter === '{' ? '}' : ']');
      if (this.#length > MAX_SCALAR_BYTES) return false;
    }
    return isJson(text ?? this.#lastBytes(this.#length).toString());
  }

  #lastBytes(count: number): Buffer {
    return bytesBetween(this.#received.chunks, this.#length, Math.max(0, this.#length - count), this.#length);
  }

  /** Returns up to {@link EDGE_BYTES} bytes from a position, as latin1; a negative position counts as 0. */
  #edge(from: number): string {
    const start = Math.max(0, from);
    return bytesBetween(
      this.#received.chunks,
      this.#length,
      start,
      Math.min(start + EDGE_BYTES, this.#length),
    ).toString('latin1');
  }
}

/** Removes a byte order mark. RFC 8259 §8.1 allows readers to ignore it, as clients in Python and browsers do. */
function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === BYTE_ORDER_MARK[0] && bytes.indexOf(BYTE_ORDER_MARK) === 0
    ? bytes.subarray(BYTE_ORDER_MARK.length)
    : bytes;
}

/**
 * Returns whether a text is JSON. Also accepts the numbers that Python's `json` writes against RFC
 * 8259: `NaN`, `Infinity`, `-Infinity`.
 */
function isJson(text: string): boolean {
  if (parses(text)) return true;
  // Strings come first in the pattern, so that a `NaN` inside them stays.
  const standard = text.replace(/"(?:[^"\\]|\\[^])*"?|-?Infinity|NaN/g, (found) =>
    found.startsWith('"') ? found : '0',
  );
  return standard !== text && parses(standard);
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Invalid JSON is an expected result, not a fault.
    return false;
  }
}
