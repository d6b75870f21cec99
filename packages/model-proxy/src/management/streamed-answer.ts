/** Answers that are too large to be one text. */
import type { ServerResponse } from 'node:http';
import { answerHeaders, writeHead } from '../exchange/answer/answer-headers.js';
import type { Exchange } from '../exchange/exchange.js';

/** An answer in parts. */
export class StreamedAnswer {
  readonly contentType: string;
  /** At least one. */
  readonly parts: AsyncIterable<string>;
  /** Additional headers: name, value, name, value. */
  readonly headers: readonly string[];

  constructor(contentType: string, parts: AsyncIterable<string>, headers: readonly string[] = []) {
    this.contentType = contentType;
    this.parts = parts;
    this.headers = headers;
  }
}

/** Returns a JSON list. @param parts elements of the list, for example those of a day. */
export function streamedList(parts: AsyncIterable<readonly object[]>): StreamedAnswer {
  return new StreamedAnswer('application/json', listTexts(parts));
}

async function* listTexts(parts: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  let separator = '[';
  for await (const elements of parts) {
    if (elements.length === 0) continue;
    yield separator + JSON.stringify(elements).slice(1, -1);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/**
 * Sends an answer. Waits while the client reads too slowly, so the memory holds one part. Makes no more parts when the
 * client has disconnected.
 * @throws an error of the parts. Before the first part is complete, nothing is sent.
 */
export async function sendStreamed(exchange: Exchange, answer: StreamedAnswer): Promise<void> {
  const { response } = exchange;
  for await (const part of answer.parts) {
    // After the event `close`, a response is still writable, and never emits `drain`.
    if (response.destroyed) return;
    if (!response.headersSent) writeHead(response, 200, headersOf(exchange, answer));
    if (!response.write(part)) await drained(response);
  }
  response.end();
}

function headersOf(exchange: Exchange, { contentType, headers }: StreamedAnswer): string[] {
  const own = ['content-type', contentType, 'cache-control', 'no-store', ...headers];
  return [...answerHeaders(exchange, null), ...own];
}

/** Waits until the client has read enough for more, or has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
