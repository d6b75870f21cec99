/**
 * Scheme, slashes and user info. The URL parser treats `http:u@h` and `http:\\u@h` like
 * `http://u@h`.
 */
const userInfo = /^(\s*[a-z][a-z0-9+.-]*:[\\/]*)[^\\/?#]*@/i;

/**
 * A port, and an at sign after it. Possibly the beginning of a password, as in `http://u:12/34@h`.
 */
const passwordAsPort = /^\s*[a-z][a-z0-9+.-]*:[\\/]*[^\\/?#@]*:\d*[\\/?#].*@/i;

/**
 * Removes possible secrets from a URL: the user info and the fragment. Replaces the whole query by
 * `******`, because a query may be a bare token without a name. Accepts invalid URLs too, because
 * error messages contain them. If the end of a password is unclear, returns only the scheme and `******`.
 */
export function maskUrl(url: string | URL): string {
  // The URL parser ignores line feeds and tabs. Remove them first. A tab in the scheme would
  // otherwise prevent the match of `userInfo`, and the password would stay in the text.
  const text = String(url).replace(/\p{Cc}/gu, '');
  // An unescaped slash or question mark in the password makes the URL invalid, or makes the
  // beginning of the password a port. The end of the password is then unknown.
  const unclear = text.includes('@') && (!URL.canParse(text) || passwordAsPort.test(text));
  if (unclear) return `${/^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''}******`;
  const pathEnd = text.search(/[?#]/);
  const visiblePart = (pathEnd === -1 ? text : text.slice(0, pathEnd)).replace(userInfo, '$1');
  return pathEnd !== -1 && text[pathEnd] === '?' ? `${visiblePart}?******` : visiblePart;
}

/**
 * Returns only scheme, host and port of a URL, and `/******` for the rest, if there is any. It is for receivers of
 * webhooks, whose path is often the only secret, as in `https://hooks.example/services/T0/B0/secret`.
 */
export function maskPath(url: string): string {
  const masked = maskUrl(url);
  const [visible = masked] = /^\s*[a-z][a-z0-9+.-]*:[\\/]*[^\\/?#]*/i.exec(masked) ?? [];
  return /^[\\/]?$/.test(masked.slice(visible.length)) ? masked : `${visible}/******`;
}

/**
 * Replaces the password of a URL by `******`. It is for addresses whose user and query must stay
 * readable, such as `qemu+ssh://root@host/system?keyfile=/key`. The password may have an unescaped
 * `/`, `?`, `#` or `@`: it ends at the last `@`.
 */
export function maskPassword(url: string): string {
  return url.replace(/(:\/\/[^/?#@:]*?(?::|%3a)).*@/is, '$1******@');
}
