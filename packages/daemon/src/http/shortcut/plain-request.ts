/**
 * A request that the shortcut (shortcut.ts) has read instead of Node's HTTP server. To its handler, it looks like a
 * request of Node's server.
 */
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { PlainHead } from './plain-head.js';

/** A request of the shortcut. {@link ShortcutConnection} pushes its body, if not all of it arrived with the head. */
export class PlainRequest extends IncomingMessage {
  #wholeBody: Buffer | null;

  /** @param wholeBody the body if it arrived with the head, otherwise null. */
  constructor(socket: Socket, { url, rawHeaders, headers }: PlainHead, wholeBody: Buffer | null) {
    super(socket);
    this.method = 'POST';
    this.url = url;
    this.httpVersion = '1.1';
    this.httpVersionMajor = 1;
    this.httpVersionMinor = 1;
    this.rawHeaders = rawHeaders;
    this.headers = headers;
    this.complete = wholeBody !== null;
    this.#wholeBody = wholeBody;
  }

  /**
   * Returns the whole body instead of the events `data` and `end`, which cost more than a small body.
   * @returns null: the whole body did not arrive with the head, or it was read.
   */
  takeWholeBody(): Buffer | null {
    const body = this.#wholeBody;
    this.#wholeBody = null;
    return body;
  }

  override _read(size: number): void {
    const body = this.takeWholeBody();
    if (body === null) {
      super._read(size);
      return;
    }
    if (body.length > 0) this.push(body);
    this.push(null);
  }
}

/** Returns the body of a request as {@link PlainRequest.takeWholeBody}; null for a request of Node's server. */
export function takeWholeBody(request: IncomingMessage): Buffer | null {
  return request instanceof PlainRequest ? request.takeWholeBody() : null;
}
