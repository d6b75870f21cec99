/** Reads and changes the query of a URL. Pairs without a change keep their original text. */

/** A pair of a query, with decoded name and value. */
export interface QueryPair {
  readonly name: string;
  readonly value: string;
  /** The original text, such as `limit=20`. */
  readonly text: string;
}

/** Returns the pairs in the query of a URL, in their order. */
export function queryPairsOf(url: string): readonly QueryPair[] {
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

/** Returns the first non-empty value that has one of the names; undefined: there is none. */
export function valueIn(query: readonly QueryPair[], ...names: readonly string[]): string | undefined {
  return query.find(({ name, value }) => value !== '' && names.includes(name))?.value;
}

/** Writes a query: `?a=1&b=2`, or an empty text without pairs. */
export function queryText(query: readonly QueryPair[]): string {
  // Characters that some clients send without escapes are invalid in a request line.
  const text = query.map((pair) => pair.text.replace(/[^\x21-\x7e]/g, encodeURIComponent)).join('&');
  return text === '' ? '' : `?${text}`;
}

/** Returns the query with another value for a name, at the same position. */
export function withValue(query: readonly QueryPair[], name: string, value: string): readonly QueryPair[] {
  return query.map((pair) =>
    pair.name === name ? { name, value, text: `${name}=${encodeURIComponent(value)}` } : pair,
  );
}

/** Returns the query with the pairs of a deployment, which replace pairs with the same names. */
export function withPairs(query: readonly QueryPair[], given: string | undefined): readonly QueryPair[] {
  if (given === undefined) return query;
  const pairs = queryPairsOf(`?${given}`);
  return [...query.filter(({ name }) => !pairs.some((pair) => pair.name === name)), ...pairs];
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // Invalid escapes: such a text is never equal to a name that the proxy searches for.
    return text;
  }
}
