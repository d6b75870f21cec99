/**
 * Loads the console again if the browser could not load one of its first files, for example because the network of the
 * computer changed meanwhile. The page runs this script before all others, and the script imports nothing.
 */
const KEY = 'rackless.start';
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** How long the service may take to answer, in milliseconds. */
const ANSWER_MS = 10_000;

// The style sheet shows the text "The console has not loaded yet" only if this class is set.
document.documentElement.classList.add('scripts');

let hasFailed = false;

/** Waits until the service answers, and loads the page again. The pause grows with each failure, also over reloads. */
async function loadAgain(failures: number): Promise<void> {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  const request: RequestInit = { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) };
  const { ok } = await fetch('/ui/', request).catch(() => ({ ok: false }));
  if (!ok) return loadAgain(failures + 1);
  sessionStorage.setItem(KEY, String(failures + 1));
  location.reload();
}

// Error events of scripts and style sheets do not bubble, so the listener captures them.
addEventListener(
  'error',
  ({ target }) => {
    const isStyle = target instanceof HTMLLinkElement && target.rel === 'stylesheet';
    if (hasFailed || !(isStyle || target instanceof HTMLScriptElement)) return;
    hasFailed = true;
    void loadAgain(Number(sessionStorage.getItem(KEY) ?? 0));
  },
  { capture: true },
);
addEventListener('load', () => {
  if (!hasFailed) sessionStorage.removeItem(KEY);
});
