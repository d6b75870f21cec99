/** The query of a URL as the pairs that stand in it: what is not touched stays as it was written. */

export interface QueryPair {
  readonly name: string;
  readonly value: string;
  /** As it was written: `limit=20`. */
  readonly text: string;
}

export function queryOf(url: string): readonly QueryPair[] {
  const start = url.indexOf('?');
  if (start === -1) return [];
  const end = url.indexOf('#', start);
  return url
    .slice(start + 1, end === -1 ? undefined : end)
    .split('&')
    .filter((text) => text !== '')
    .map((text) => {
      const at = text.indexOf('=');
      return at === -1
        ? { name: unescaped(text), value: '', text }
        : { name: unescaped(text.slice(0, at)), value: unescaped(text.slice(at + 1)), text };
    });
}

/** The first value of that name that is not empty. */
export function valueIn(query: readonly QueryPair[], ...names: readonly string[]): string | undefined {
  return query.find(({ name, value }) => value !== '' && names.includes(name))?.value;
}

/** `?a=1&b=2`, or nothing. */
export function queryText(query: readonly QueryPair[]): string {
  // What stands bare in a query may not stand in a request's first line.
  const text = query.map((pair) => pair.text.replace(/[^\x21-\x7e]/g, encodeURIComponent)).join('&');
  return text === '' ? '' : `?${text}`;
}

/** The same query with another value for a name, where it stands. */
export function withValue(query: readonly QueryPair[], name: string, value: string): readonly QueryPair[] {
  return query.map((pair) =>
    pair.name === name ? { name, value, text: `${name}=${encodeURIComponent(value)}` } : pair,
  );
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // Broken escapes: it is no name and no value that anybody here looks for.
    return text;
  }
}
