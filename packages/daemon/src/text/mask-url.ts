/**
 * Scheme, slashes and user info. The URL parser treats `http:u@h` and `http:\\u@h` like
 * `http://u@h`.
 */
const userInfo = /^(\s*[a-z][a-z0-9+.-]*:[\\/]*)[^\\/?#]*@/i;

/**
 * Removes possible secrets from a URL: the user info and the fragment. Replaces the whole query by
 * `******`, because a query may be a bare token without a name. Accepts invalid URLs too, because
 * error messages contain them.
 */
export function maskUrl(url: string | URL): string {
  // The URL parser drops control characters too. A line feed inside the scheme must not hide the
  // user info.
  const text = String(url).replace(/\p{Cc}/gu, '');
  // An unescaped slash or question mark in the password makes the URL invalid. The end of the
  // password is then unknown.
  if (text.includes('@') && !URL.canParse(text)) return `${/^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''}******`;
  const end = text.search(/[?#]/);
  const shown = (end === -1 ? text : text.slice(0, end)).replace(userInfo, '$1');
  return end !== -1 && text[end] === '?' ? `${shown}?******` : shown;
}
