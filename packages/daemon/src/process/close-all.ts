/** Closes what was opened, also if a close fails. */
import type { Log } from '../log/log.js';

/** A part that may need a close. */
export interface Closable {
  readonly close?: (() => void | PromiseLike<void>) | undefined;
}

/**
 * Closes the parts one after the other, the last one first. If a close fails, still closes the others.
 * @throws the error of a close; {AggregateError} if several fail.
 */
export async function closeInReverse(parts: readonly Closable[]): Promise<void> {
  const faults: unknown[] = [];
  for (const part of parts.toReversed()) {
    try {
      await part.close?.();
    } catch (fault) {
      faults.push(fault);
    }
  }
  if (faults.length === 1) throw faults[0];
  if (faults.length > 1) throw new AggregateError(faults, faults.map(String).join('; '));
}

/**
 * Closes the parts as {@link closeInReverse} does, after a failed start. Logs the error of a close, so that the
 * caller can report the error of the start. Never rejects.
 */
export async function closeAfterFailure(parts: readonly Closable[], log: Pick<Log, 'error'>): Promise<void> {
  try {
    await closeInReverse(parts);
  } catch (error) {
    log.error('closing after a failed start failed', { error });
  }
}
