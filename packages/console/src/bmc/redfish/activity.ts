/** Keeps a session alive while its user types, clicks or scrolls, also if this sends no request. */
import { exchange } from './wire.js';
import { sessionUri, token } from './session.js';

/**
 * Minimum time between two uses of the session, in milliseconds. It is much shorter than the
 * smallest SessionTimeout (30 s).
 */
const PAUSE_MS = 10_000;
const inputs = ['keydown', 'pointerdown', 'wheel'] as const;

/**
 * Uses the session after input of the user. The input at a screen or a serial console goes through a WebSocket,
 * which does not renew the session. Returns a function that ends this.
 */
export function keepSessionAlive(): () => void {
  let usedMs = performance.now();
  const use = (): void => {
    const path = sessionUri();
    if (path === null || performance.now() - usedMs < PAUSE_MS) return;
    usedMs = performance.now();
    // After a failure, the next request of the page asks for a log-in.
    exchange({ method: 'HEAD', path, token: token() }).catch(() => undefined);
  };
  // Listens before the screen and the terminal, which stop these events.
  for (const input of inputs) addEventListener(input, use, { capture: true, passive: true });
  return () => {
    for (const input of inputs) removeEventListener(input, use, { capture: true });
  };
}
