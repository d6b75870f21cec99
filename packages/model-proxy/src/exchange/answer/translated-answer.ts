/**
 * Translates answers of upstreams whose API is not the API of the client. The translation then goes
 * through the same classes as other answers.
 */
import { ChunkList } from '../../json/chunk-list.js';
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { responseTooLarge } from '../../errors/body.js';
import type { Api } from '../../errors/error-body.js';
import type { ProxyError } from '../../errors/proxy-error.js';
import type { DialectAnswer, DialectEvents, DialectStream, UpstreamError } from '../../providers/dialect.js';
import type { TranslatedCall } from '../../providers/translation.js';
import { errorOfUpstreamError, interruptionFault, notJsonFault, untranslatableFault } from '../../upstream/classify.js';
import type { Answer, AnswerContext } from './answer.js';
import { EventAnswer } from './event-answer.js';
import { CollectedChunks } from './collected-chunks.js';
import { withEncodedEmbeddings } from './embeddings-encoding.js';
import { JsonAnswer } from './json-answer.js';
import { RawAnswer } from './raw-answer.js';

/** Makes the answer for a status of 2xx. @param type media type of the upstream's answer. */
export function translatedAnswer(context: AnswerContext, translated: TranslatedCall, type: string): Answer {
  const { endpoint, call } = translated;
  if (endpoint.answersRaw === true) return new RawAnswer(context);
  if (endpoint.events?.mediaType !== type) return new TranslatedJson(context, translated);
  const stream = endpoint.events.open(call);
  return call.streams ? new TranslatedEvents(context, stream) : new CollectedChat(context, stream);
}

/**
 * Maximum size of an answer that the proxy translates as a whole. The translation needs four times as much memory.
 * 2,048 long embeddings have 75 MB.
 */
const MAX_TRANSLATED_BYTES = 128 * 1024 * 1024;

/** Checks the size of the received part of an answer. @throws {ProxyError} 502: it is larger than a limit. */
function checkSize({ exchange }: AnswerContext, bytes: number): void {
  const { maxResponseBytes } = exchange.proxy.settings;
  if (bytes > maxResponseBytes) throw responseTooLarge(maxResponseBytes, bytes);
  if (bytes > MAX_TRANSLATED_BYTES)
    throw responseTooLarge(MAX_TRANSLATED_BYTES, bytes, 'the proxy translates no larger answer');
}

/** A dialect's result that is not a JSON answer for the client: audio, or the upstream's error. */
type NonJsonAnswer = Exclude<DialectAnswer, { readonly value: object }>;
type Audio = Extract<DialectAnswer, { readonly bytes: Buffer }>;

/** A JSON answer. The proxy translates it when it is complete. */
class TranslatedJson implements Answer {
  readonly #context: AnswerContext;
  readonly #translated: TranslatedCall;
  readonly #received = new ChunkList();
  #length = 0;

  constructor(context: AnswerContext, translated: TranslatedCall) {
    this.#context = context;
    this.#translated = translated;
  }

  /** @throws {ProxyError} 502: the answer is larger than the limit. */
  data(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#length += chunk.length;
    checkSize(this.#context, this.#length);
  }

  end(): void {
    const { exchange, status } = this.#context;
    const { selection } = exchange;
    if (selection === null) return;
    const body = Buffer.concat(this.#received.chunks, this.#length);
    let translation: string | NonJsonAnswer;
    try {
      translation = this.#translate(parseWithinLimits(body.toString()));
    } catch (error) {
      this.fail(
        error instanceof SyntaxError ? notJsonFault(status, body, selection) : untranslatableFault(error, selection),
      );
      return;
    }
    if (typeof translation === 'string') sendJson(this.#context, translation);
    else if ('bytes' in translation) sendAudio(this.#context, translation);
    else this.fail(errorOf(this.#context, translation.error));
  }

  fail(error: ProxyError): void {
    this.#context.attempt.reject(error, this.#context.headers);
  }

  /**
   * Returns the answer as JSON, its audio, or the upstream's error.
   * @throws {Error} if the dialect does not expect the answer, or the answer is nested too deep for JSON.
   */
  #translate(parsed: unknown): string | NonJsonAnswer {
    const answer = this.#translated.endpoint.answer(parsed, this.#translated.call);
    if (!('value' in answer)) return answer;
    const { encodesEmbeddings } = this.#context.exchange;
    return JSON.stringify(encodesEmbeddings ? withEncodedEmbeddings(answer.value) : answer.value);
  }
}

function sendJson(context: AnswerContext, text: string): void {
  const answer = new JsonAnswer(withoutBodyHeaders(context));
  answer.data(Buffer.from(text));
  answer.end();
}

function sendAudio(context: AnswerContext, { bytes, contentType }: Audio): void {
  const { headers } = withoutBodyHeaders(context);
  const bodyHeaders = ['content-type', contentType, 'content-length', String(bytes.length)];
  const raw = new RawAnswer({ ...context, headers: [...headers, ...bodyHeaders] });
  raw.data(bytes);
  raw.end();
}

/** A streamed chat for a client that requested no stream. The client gets a single JSON answer. */
class CollectedChat implements Answer {
  readonly #context: AnswerContext;
  readonly #stream: DialectStream;
  readonly #chat = new CollectedChunks();
  #bytes = 0;
  #isDone = false;

  constructor(context: AnswerContext, stream: DialectStream) {
    this.#context = context;
    this.#stream = stream;
  }

  /** @throws {ProxyError} 502: the answer is larger than the limit. */
  data(chunk: Buffer): void {
    this.#bytes += chunk.length;
    checkSize(this.#context, this.#bytes);
    this.#read(() => this.#stream.push(chunk));
  }

  end(): void {
    this.#read(() => this.#stream.finish());
    const { exchange, attempt } = this.#context;
    if (attempt.isOver || exchange.selection === null) return;
    if (this.#isDone) sendJson(this.#context, JSON.stringify(this.#chat.completion()));
    else this.fail(interruptionFault('answer', exchange.selection));
  }

  fail(error: ProxyError): void {
    this.#context.attempt.reject(error, this.#context.headers);
  }

  #read(read: () => DialectEvents): void {
    const { exchange, attempt } = this.#context;
    if (this.#isDone || attempt.isOver || exchange.selection === null) return;
    try {
      const { events, isDone, error } = read();
      this.#chat.add(events);
      this.#isDone = isDone;
      if (error !== undefined) this.fail(errorOf(this.#context, error));
    } catch (error) {
      this.fail(untranslatableFault(error, exchange.selection));
    }
  }
}

/** A stream. The proxy translates each chunk. */
class TranslatedEvents implements Answer {
  readonly #context: AnswerContext;
  readonly #stream: DialectStream;
  readonly #translated: EventAnswer;
  #isDone = false;
  #hasFailed = false;

  constructor(context: AnswerContext, stream: DialectStream) {
    this.#context = context;
    this.#stream = stream;
    this.#translated = new EventAnswer(withoutBodyHeaders(context));
  }

  data(chunk: Buffer): void {
    this.#translate(() => this.#stream.push(chunk));
  }

  end(): void {
    this.#translate(() => this.#stream.finish());
    if (this.#hasFailed) return;
    const { selection } = this.#context.exchange;
    if (!this.#isDone && selection !== null) this.fail(interruptionFault('answer', selection));
    else this.#translated.end();
  }

  fail(error: ProxyError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#translated.fail(error);
  }

  readUsage(): void {
    this.#translated.readUsage();
  }

  #translate(read: () => DialectEvents): void {
    const { exchange, attempt } = this.#context;
    if (this.#isDone || this.#hasFailed || exchange.selection === null) return;
    const { api } = this.#context.endpoint;
    let result;
    let text = '';
    try {
      result = read();
      for (const event of result.events) text += eventText(event, api);
    } catch (error) {
      this.fail(untranslatableFault(error, exchange.selection));
      return;
    }
    if (result.isDone && api === 'openai') text += 'data: [DONE]\n\n';
    if (text !== '') this.#translated.data(Buffer.from(text));
    this.#isDone = result.isDone;
    // EventAnswer may have rejected the answer already, for example because its first event is an error.
    if (result.error === undefined || attempt.isOver) return;
    this.fail(errorOf(this.#context, result.error));
  }
}

/** Returns the text of an event. For clients of Anthropic's API, the type of the event is also its name. */
function eventText(event: object, api: Api): string {
  const name = api === 'anthropic' && 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

function errorOf({ exchange, status, headers }: AnswerContext, error: UpstreamError): ProxyError {
  const { selection } = exchange;
  // The callers have checked that there is a selection.
  if (selection === null) throw new Error('the exchange has no selection');
  return errorOfUpstreamError(error.status ?? (status >= 400 ? status : 500), headers, error, selection);
}

/** Returns the context without the type and the length of the upstream's body. */
function withoutBodyHeaders(context: AnswerContext): AnswerContext {
  const headers: string[] = [];
  for (let index = 0; index + 1 < context.headers.length; index += 2) {
    const [name = '', value = ''] = [context.headers[index], context.headers[index + 1]];
    if (name !== 'content-type' && name !== 'content-length') headers.push(name, value);
  }
  return { ...context, headers };
}
