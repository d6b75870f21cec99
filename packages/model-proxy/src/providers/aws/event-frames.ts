/**
 * Splits AWS's event streams into messages, and decodes them with AWS's codec, which checks both
 * checksums.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
 */
import { EventStreamCodec } from '@smithy/core/event-streams';
import { recordOf, textOf } from '../anthropic/values.js';
import { parseWithinLimits } from '../../json/parse-within-limits.js';

/** A decoded message. */
export interface EventFrame {
  /** The header `:message-type`: `event`, `exception` or `error`; empty if it is missing. */
  readonly kind: string;
  /** The type of the event or exception, such as `contentBlockDelta`; for an `error`, its code. */
  readonly name: string;
  /** The text of an `error`, which has no payload; otherwise empty. */
  readonly message: string;
  /** The payload. */
  readonly body: Buffer;
}

/** Parses the payload of a message. @throws {Error} if the payload is not JSON, or exceeds a limit. */
export const jsonIn = ({ body }: EventFrame): unknown => parseWithinLimits(body.toString());

/**
 * Returns the text of an exception or an error, or its name if it has no text.
 * @throws {Error} if the payload of an exception is not JSON, or exceeds a limit.
 */
export function faultText(frame: EventFrame): string {
  const { kind, name, message } = frame;
  if (kind === 'error') return message === '' ? name : message;
  const { message: text, Message } = recordOf(jsonIn(frame)) ?? {};
  return textOf(text) ?? textOf(Message) ?? name;
}

/**
 * Each message has four numbers of 4 bytes: its length, the length of its headers, the checksum of both lengths, and
 * the checksum of the message. So no message is shorter.
 */
const MIN_BYTES = 16;
/** AWS's limit for a message. */
const MAX_BYTES = 24 * 1024 * 1024;

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()),
  (text) => Buffer.from(text),
);

/** Reads one stream. Needs no closing. */
export class EventFrames {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Length of the current message; 0: unknown. */
  #needed = 0;

  /**
   * Reads the next bytes.
   * @returns the complete messages.
   * @throws {Error} if the bytes are not an event stream.
   */
  push(chunk: Buffer): EventFrame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: EventFrame[] = [];
    // Joins the chunks only if they contain the length of a message, or a whole message.
    while (this.#bytes >= Math.max(this.#needed, MIN_BYTES)) {
      const [first] = this.#chunks;
      const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#bytes);
      this.#needed = bytes.readUInt32BE(0);
      if (this.#needed < MIN_BYTES || this.#needed > MAX_BYTES) throw new Error(`a message of ${this.#needed} bytes`);
      this.#chunks = [bytes];
      if (bytes.length < this.#needed) break;
      frames.push(frameOf(bytes.subarray(0, this.#needed)));
      this.#chunks = [bytes.subarray(this.#needed)];
      this.#bytes -= this.#needed;
      this.#needed = 0;
    }
    return frames;
  }
}

/** The headers with the names of events and errors. */
const nameHeaders: ReadonlyMap<string, string> = new Map([
  ['event', ':event-type'],
  ['error', ':error-code'],
]);

function frameOf(bytes: Buffer): EventFrame {
  const { headers, body } = codec.decode(bytes);
  const text = (name: string): string => {
    const value = headers[name]?.value;
    return typeof value === 'string' ? value : '';
  };
  const kind = text(':message-type');
  return {
    kind,
    name: text(nameHeaders.get(kind) ?? ':exception-type'),
    message: text(':error-message'),
    body: Buffer.from(body),
  };
}
