/**
 * Keeps a session alive while its user types, clicks or scrolls, even if this sends no request. Stores the time of the
 * last input.
 */
import { exchange } from './wire.js';
import { sessionUri, token } from './session.js';

/**
 * Minimum time between two uses of the session, in milliseconds. It is much shorter than the
 * smallest SessionTimeout (30 s).
 */
const PAUSE_MS = 10_000;
const inputs = ['keydown', 'pointerdown', 'wheel'] as const;
/** Time without input, in milliseconds, after which a user no longer attends to the page. */
const ATTENDED_MS = 300_000;
/** The time of the last input, or of the start of the page, as in `performance.now()`. */
let inputMs = 0;

/**
 * Returns whether the page is visible and its user was active in the last minutes. Each request keeps the session
 * alive. So the page sends requests without input of the user only while it is attended, and the session of an
 * unattended browser ends. A page without a session only has to be visible.
 */
export function isAttended(): boolean {
  if (document.visibilityState !== 'visible') return false;
  return sessionUri() === null || performance.now() - inputMs < ATTENDED_MS;
}

/** Resolves when the page is attended (see {@link isAttended}), or when the signal aborts. */
export function whenAttended(until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!isAttended() && !until.aborted) return;
      for (const input of inputs) removeEventListener(input, check, { capture: true });
      document.removeEventListener('visibilitychange', check);
      resolve();
    };
    for (const input of inputs) addEventListener(input, check, { capture: true, passive: true });
    document.addEventListener('visibilitychange', check);
    until.addEventListener('abort', check, { once: true });
    check();
  });
}

/**
 * Uses the session after input of the user. The input at a screen or a serial console goes through a WebSocket,
 * which does not renew the session. Returns a function that stops listening to the input.
 */
export function keepSessionAlive(): () => void {
  let usedMs = performance.now();
  inputMs = usedMs;
  const use = (): void => {
    inputMs = performance.now();
    const path = sessionUri();
    if (path === null || performance.now() - usedMs < PAUSE_MS) return;
    usedMs = performance.now();
    // Ignores a failure. If the session has ended, the next request of the page asks for a login.
    exchange({ method: 'HEAD', path, token: token() }).catch(() => undefined);
  };
  // Listens before the screen and the terminal, which stop these events.
  for (const input of inputs) addEventListener(input, use, { capture: true, passive: true });
  return () => {
    for (const input of inputs) removeEventListener(input, use, { capture: true });
  };
}
