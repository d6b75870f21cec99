import { setTimeout as delay } from 'node:timers/promises';

/** Waits for some time. @throws the reason of the signal if the signal aborts. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/**
 * Returns a signal that aborts some time after another signal, or at once if that signal has
 * already aborted. If the user interrupts a login, the service may already have created a session.
 * Only the answer contains the URI of the session, with which the command deletes it.
 * @returns the signal, and a function that stops the timer and no longer listens to the other signal.
 */
export function graceAfter(
  signal: AbortSignal,
  milliseconds: number,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = setTimeout(() => late.abort(signal.reason), milliseconds);
  };
  signal.addEventListener('abort', start, { once: true });
  if (signal.aborted) late.abort(signal.reason);
  const end = (): void => {
    signal.removeEventListener('abort', start);
    clearTimeout(timer);
  };
  return { signal: late.signal, end };
}
