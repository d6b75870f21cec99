/** Time limits for image servers. The error at a limit has the message for clients. */
import { ImageError } from './image-error.js';

/** A time limit, and the message for clients. */
export interface TimeLimit {
  readonly ms: number;
  /** Returns the message, such as `reading image http://…: why`. */
  readonly message: () => string;
}

/**
 * Runs the work with a signal that aborts at the deadline.
 * @param signal the caller's signal. If it aborts, the work's signal aborts too, even after this
 *   function has returned.
 * @param work must reject with the reason of its signal when the signal aborts.
 * @throws {ImageError} mediaUnreachable at the deadline; else what the work throws.
 */
export async function abortAtDeadline<Result>(
  { ms, message }: TimeLimit,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new ImageError('mediaUnreachable', message())), ms);
  try {
    return await work(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}
