import { setMaxListeners } from 'node:events';

const nothing = (): void => undefined;

/**
 * Calls `action` once when the signal fires; a signal that has fired already is the caller's to look at.
 * @returns what takes the action away again.
 */
export function onAbort(signal: AbortSignal | undefined, action: () => void): () => void {
  if (signal === undefined) return nothing;
  // Many calls may share one signal; Node 20 warns of a leak at the eleventh, later versions do not.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}
