/**
 * Unwraps SageMaker's streams. Their events contain the container's stream in parts, which may end anywhere.
 * @see https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_ResponseStream.html
 */
import { EventFrames, faultText, type EventFrame } from '../aws/event-frames.js';
import type { DialectEvents, DialectStream, UpstreamError } from '../dialect.js';

/** One stream. */
export class PayloadStream implements DialectStream {
  readonly #frames = new EventFrames();
  /** Reads the bytes of the container. */
  readonly #container: DialectStream;

  constructor(container: DialectStream) {
    this.#container = container;
  }

  push(chunk: Buffer): DialectEvents {
    const events: object[] = [];
    for (const frame of this.#frames.push(chunk)) {
      const error = errorIn(frame);
      if (error !== undefined) return { events, isDone: false, error };
      if (frame.name !== 'PayloadPart') continue;
      const read = this.#container.push(frame.body);
      events.push(...read.events);
      if (read.isDone || read.error !== undefined) return { ...read, events };
    }
    return { events, isDone: false };
  }

  finish(): DialectEvents {
    return this.#container.finish();
  }
}

/**
 * Reads an exception: `ModelStreamError` (a fault of the container) or `InternalStreamFailure` (a fault of
 * SageMaker).
 */
function errorIn(frame: EventFrame): UpstreamError | undefined {
  if (frame.kind === 'event') return undefined;
  return { status: 500, message: faultText(frame), type: frame.name };
}
