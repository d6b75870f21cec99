/** Errors in the event streams of Bedrock. */
import { faultText, type EventFrame } from '../aws/event-frames.js';
import type { UpstreamError } from '../dialect.js';

/** The statuses of exceptions. All others have 500. */
const statusOf: ReadonlyMap<string, number> = new Map([
  ['validationException', 400],
  ['throttlingException', 429],
  ['modelStreamErrorException', 424],
  ['serviceUnavailableException', 503],
]);

/** Reads an exception or an error, which ends the stream. @returns undefined: the message is an event. */
export function streamError(frame: EventFrame): UpstreamError | undefined {
  const { kind, name } = frame;
  if (kind === 'event') return undefined;
  return { status: statusOf.get(name) ?? 500, message: faultText(frame), type: name === '' ? null : name };
}
