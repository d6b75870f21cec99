/** Encodes messages of AWS's event streams, with AWS's codec. */
import { EventStreamCodec } from '@smithy/core/event-streams';
import type { VendorAnswer } from './vendors.js';

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()),
  (text) => Buffer.from(text),
);

/** Encodes a message. @param body bytes, or a value for JSON. @param kind `event` or `exception`. */
export function frame(name: string, body: object, kind = 'event'): Buffer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return Buffer.from(
    codec.encode({
      headers: {
        ':message-type': { type: 'string', value: kind },
        [kind === 'event' ? ':event-type' : ':exception-type']: { type: 'string', value: name },
        ':content-type': { type: 'string', value: 'application/json' },
      },
      body: bytes,
    }),
  );
}

/** Encodes an error, which has no payload. @see https://smithy.io/2.0/aws/amazon-eventstream.html */
export function errorFrame(headers: Readonly<Record<string, string>>): Buffer {
  const all = Object.entries({ ':message-type': 'error', ...headers });
  const typed = Object.fromEntries(all.map(([name, value]) => [name, { type: 'string' as const, value }]));
  return Buffer.from(codec.encode({ headers: typed, body: Buffer.alloc(0) }));
}

/** Makes an answer that sends a stream in chunks of a size. */
export const stream =
  (bytes: Buffer, size = bytes.length): VendorAnswer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size));
    response.end();
  };
