import { setMaxListeners } from 'node:events';

const nothing = (): void => undefined;

/**
 * Calls `action` once when the signal aborts. Does nothing if the signal is already aborted, so the
 * caller must check `signal.aborted` first.
 * @returns a function that removes the listener.
 */
export function onAbort(signal: AbortSignal | undefined, action: () => void): () => void {
  if (signal === undefined) return nothing;
  // Many calls may share a signal. Node 20 warns of a leak at the eleventh listener.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}
