/**
 * The same URL without what may be a secret: no user info, the query masked as a whole (a bare `?token` has no name to keep),
 * no fragment. Works on text that is no URL, too, since what is being logged may be just the fault.
 */
export function maskUrl(url: string | URL): string {
  const text = String(url);
  const end = text.search(/[?#]/);
  const shown = (end === -1 ? text : text.slice(0, end)).replace(/\/\/[^/]*@/, '//');
  return end !== -1 && text[end] === '?' ? `${shown}?******` : shown;
}
