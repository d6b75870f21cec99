/** Answers that are too large to be one text. */
import type { ServerResponse } from 'node:http';
import { answerHeaders, writeHead } from '../exchange/answer/answer-headers.js';
import type { Exchange } from '../exchange/exchange.js';

/** An answer in parts. */
export class StreamedAnswer {
  readonly contentType: string;
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
 * Sends an answer. Waits while the client reads too slowly, so the memory holds one part.
 * @throws an error of the parts. Before the first part is complete, nothing is sent.
 */
export async function sendStreamed(exchange: Exchange, answer: StreamedAnswer): Promise<void> {
  const { request, response } = exchange;
  const parts = answer.parts[Symbol.asyncIterator]();
  let next = await parts.next();
  if (response.destroyed) return;
  const headers = [...answerHeaders(exchange, null), 'content-type', answer.contentType, 'cache-control', 'no-store'];
  writeHead(response, 200, [...headers, ...answer.headers]);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  while (next.done !== true && response.writable) {
    if (!response.write(next.value)) await writable(response);
    next = await parts.next();
  }
  response.end();
}

/** Waits until the client has read enough for more, or has disconnected. */
function writable(response: ServerResponse): Promise<void> {
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
