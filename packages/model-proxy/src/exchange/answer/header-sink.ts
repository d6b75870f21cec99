/** Collects the headers of an answer, in the form that its response takes. */
import type { ServerResponse } from 'node:http';
import { PlainResponse } from '@rackless/daemon/http/shortcut/plain-response.js';
import { RenderedHeaders, type HeaderBlock } from '@rackless/daemon/http/shortcut/rendered-headers.js';
import { bytesOfHeaders } from '../head-limit.js';

/** Takes the headers of an answer, in order. Names are in lower case. */
export interface HeaderSink {
  /** Size of the headers so far, in bytes. */
  readonly byteLength: number;
  /** @throws {Error} the response cannot send the header. */
  add(name: string, value: string): void;
  addBlock(block: HeaderBlock): void;
}

/** The headers as a list, for Node's responses. */
export class HeaderList implements HeaderSink {
  /** Name, value, name, value. */
  readonly list: string[] = [];

  get byteLength(): number {
    return bytesOfHeaders(this.list);
  }

  add(name: string, value: string): void {
    this.list.push(name, value);
  }

  addBlock({ list }: HeaderBlock): void {
    this.list.push(...list);
  }
}

/**
 * Sends the head of an answer with a body. A `PlainResponse` takes rendered headers, which cost less than half of a
 * list of headers.
 * @param fill adds the headers.
 */
export function sendHeaders(response: ServerResponse, status: number, fill: (sink: HeaderSink) => void): void {
  if (response instanceof PlainResponse) {
    const rendered = new RenderedHeaders();
    fill(rendered);
    response.writeHead(status, rendered);
    return;
  }
  const headers = new HeaderList();
  fill(headers);
  response.writeHead(status, headers.list);
}
