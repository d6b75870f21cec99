/** Reads the events of a stream as values, for dialects, which translate each event. */
import { ChunkList } from '../json/chunk-list.js';
import { dataOf, dataRanges, EventEnds } from './event-lines.js';

/** An event with data. */
export interface ServerSentEvent {
  /** The value of the `event` field; empty: the event has none. */
  readonly name: string;
  /** The `data` lines, joined by line feeds. */
  readonly data: string;
}

/** The reader stores an event until the event is complete, so it rejects larger events. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** No event with data is shorter than `data:` and a line end. A shorter part has only line ends or a comment. */
const MIN_EVENT_BYTES = 6;

/** Reads one stream. Holds no resources: call {@link finish} only if the upstream ended the stream without a fault. */
export class EventReader {
  readonly #ends = new EventEnds();
  #pending = new ChunkList();
  #pendingBytes = 0;

  /**
   * Reads a chunk.
   * @returns the complete events with data; without comments.
   * @throws {Error} if an incomplete event has more than 16 MiB.
   */
  push(chunk: Buffer): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    let start = 0;
    let from = this.#ends.begin(chunk);
    for (;;) {
      const end = this.#ends.next(chunk, from);
      if (end === -1) break;
      if (this.#pendingBytes > 0) {
        this.#store(chunk.subarray(start, end));
        this.#takePending(events);
      } else if (end - start >= MIN_EVENT_BYTES) take(chunk.subarray(start, end), events);
      start = from = end;
    }
    this.#store(chunk.subarray(start));
    return events;
  }

  /** Ends the stream. @returns the rest of the stream as an event, if it has data. */
  finish(): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    this.#takePending(events);
    return events;
  }

  #store(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > MAX_EVENT_BYTES) throw new Error(`an event has more than ${MAX_EVENT_BYTES} bytes`);
  }

  #takePending(events: ServerSentEvent[]): void {
    const event = Buffer.concat(this.#pending.chunks, this.#pendingBytes);
    this.#pending = new ChunkList();
    this.#pendingBytes = 0;
    take(event, events);
  }
}

/** Adds an event to the list if it has data. */
function take(event: Buffer, events: ServerSentEvent[]): void {
  const ranges = dataRanges(event);
  if (ranges.length === 0) return;
  const data = dataOf(event, ranges).toString('utf8').slice(0, -1);
  const head = event.toString('utf8', 0, ranges[0]?.start);
  const rest = event.toString('utf8', ranges.at(-1)?.end);
  const name = /(?:^|[\r\n])event: ?([^\r\n]*)/.exec(`${head}\n${rest}`)?.[1] ?? '';
  events.push({ name, data });
}
