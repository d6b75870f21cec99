/** Time limits for image servers. A limit ends the work with the reason that clients read. */
import { ImageError } from './image-error.js';

/** How long the work may take, and what a client reads when it takes longer. */
export interface Deadline {
  readonly ms: number;
  /** "reading image http://…: why". */
  readonly message: () => string;
}

/**
 * Runs the work with a signal that aborts when the time is up.
 * @param signal the caller's; the work's signal aborts with it, also after this function has returned.
 * @throws {ImageError} mediaUnreachable as the signal's reason, where the work reports that; whatever the work throws.
 */
export async function withDeadline<Result>(
  { ms, message }: Deadline,
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
