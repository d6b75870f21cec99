/**
 * Translates answers of providers with a dialect to OpenAI's form. The translation then goes
 * through the same classes as other answers.
 */
import { parseJson } from '@rackless/daemon/text/json.js';
import { ChunkList } from '../../json/chunk-list.js';
import { responseTooLarge } from '../../errors/body.js';
import type { Api } from '../../errors/error-body.js';
import type { ProxyError } from '../../errors/proxy-error.js';
import type { DialectEvents, DialectStream, UpstreamError } from '../../providers/dialect.js';
import type { TranslatedCall } from '../../providers/translation.js';
import { errorOfUpstreamError, interruptionFault, notJsonFault, untranslatableFault } from '../../upstream/classify.js';
import type { Answer, AnswerContext } from './answer.js';
import { EventAnswer } from './event-answer.js';
import { withEncodedEmbeddings } from './embeddings-encoding.js';
import { JsonAnswer } from './json-answer.js';
import { RawAnswer } from './raw-answer.js';

/** Makes the answer for a status of 2xx. @param type media type of the upstream's answer. */
export function translatedAnswer(context: AnswerContext, translated: TranslatedCall, type: string): Answer {
  const { endpoint, call } = translated;
  if (endpoint.answersRaw === true) return new RawAnswer(context);
  return endpoint.events?.mediaType === type
    ? new TranslatedEvents(context, endpoint.events.open(call))
    : new TranslatedJson(context, translated);
}

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
    const { maxResponseBytes } = this.#context.exchange.proxy.settings;
    this.#received.push(chunk);
    this.#length += chunk.length;
    if (this.#length > maxResponseBytes) throw responseTooLarge(maxResponseBytes, this.#length);
  }

  end(): void {
    const { exchange, status } = this.#context;
    const { selection } = exchange;
    if (selection === null) return;
    const body = Buffer.concat(this.#received.chunks, this.#length);
    const parsed = parseJson(body.toString());
    if (parsed === undefined) {
      this.fail(notJsonFault(status, body, selection));
      return;
    }
    let translation;
    try {
      translation = this.#translate(parsed);
    } catch (error) {
      this.fail(untranslatableFault(error, selection));
      return;
    }
    if (typeof translation !== 'string') {
      this.fail(errorOf(this.#context, translation));
      return;
    }
    const openai = new JsonAnswer(withoutBodyHeaders(this.#context));
    openai.data(Buffer.from(translation));
    openai.end();
  }

  fail(error: ProxyError): void {
    this.#context.attempt.reject(error, this.#context.headers);
  }

  /**
   * Returns the answer as JSON, or the upstream's error.
   * @throws {Error} if the dialect does not expect the answer, or the answer is nested too deep for JSON.
   */
  #translate(parsed: unknown): string | UpstreamError {
    const answer = this.#translated.endpoint.answer(parsed, this.#translated.call);
    if ('error' in answer) return answer.error;
    const { encodesEmbeddings } = this.#context.exchange;
    return JSON.stringify(encodesEmbeddings ? withEncodedEmbeddings(answer.value) : answer.value);
  }
}

/** A stream. The proxy translates each chunk. */
class TranslatedEvents implements Answer {
  readonly #context: AnswerContext;
  readonly #stream: DialectStream;
  readonly #openai: EventAnswer;
  #isDone = false;
  #hasFailed = false;

  constructor(context: AnswerContext, stream: DialectStream) {
    this.#context = context;
    this.#stream = stream;
    this.#openai = new EventAnswer(withoutBodyHeaders(context));
  }

  data(chunk: Buffer): void {
    this.#translate(() => this.#stream.push(chunk));
  }

  end(): void {
    this.#translate(() => this.#stream.finish());
    if (this.#hasFailed) return;
    const { selection } = this.#context.exchange;
    if (!this.#isDone && selection !== null) this.fail(interruptionFault('answer', selection));
    else this.#openai.end();
  }

  fail(error: ProxyError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#openai.fail(error);
  }

  readUsage(): void {
    this.#openai.readUsage();
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
    if (text !== '') this.#openai.data(Buffer.from(text));
    this.#isDone = result.isDone;
    // EventAnswer may have rejected the answer.
    if (result.error === undefined || attempt.isOver) return;
    this.fail(errorOf(this.#context, result.error));
  }
}

/** Writes an event. Anthropic's events have their type as a name. */
function eventText(event: object, api: Api): string {
  const name = api === 'anthropic' && 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

function errorOf({ exchange, status, headers }: AnswerContext, error: UpstreamError): ProxyError {
  const { selection } = exchange;
  // The callers have checked that there is a selection.
  if (selection === null) throw new Error('no selection');
  return errorOfUpstreamError(error.status ?? (status >= 400 ? status : 500), headers, error, selection);
}

/** Removes the headers that describe the upstream's form of the body. */
function withoutBodyHeaders(context: AnswerContext): AnswerContext {
  const headers: string[] = [];
  for (let index = 0; index + 1 < context.headers.length; index += 2) {
    const [name = '', value = ''] = [context.headers[index], context.headers[index + 1]];
    if (name !== 'content-type' && name !== 'content-length') headers.push(name, value);
  }
  return { ...context, headers };
}
