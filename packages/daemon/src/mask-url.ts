/** Everything up to the user info of what the URL parser takes: `http:u@h` and `http:\\u@h` are the same to it as `http://u@h`. */
const userInfo = /^(\s*[a-z][a-z0-9+.-]*:[\\/]*)[^\\/?#]*@/i;

/**
 * The same URL without what may be a secret: no user info, the query masked as a whole (a bare `?token` has no name to keep),
 * no fragment. Works on text that is no URL, too, since what is being logged may be just the fault.
 */
export function maskUrl(url: string | URL): string {
  // As the parser of URLs does: a line feed inside of the scheme must not hide the user info.
  const text = String(url).replace(/\p{Cc}/gu, '');
  // A password with a bare slash or question mark makes it no URL, and leaves no way to tell where the password ends.
  if (text.includes('@') && !URL.canParse(text)) return `${/^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''}******`;
  const end = text.search(/[?#]/);
  const shown = (end === -1 ? text : text.slice(0, end)).replace(userInfo, '$1');
  return end !== -1 && text[end] === '?' ? `${shown}?******` : shown;
}
