/** Keys of clients in the query of a raw request. The proxy never sends them to an upstream. */
import { queryPairsOf, valueIn, type QueryPair } from './query.js';

/** Names that Azure's browser clients use. */
const names: readonly string[] = ['api-key', 'api_key'];
/** {@link names}, and the name that clients of Gemini's API use. At other upstreams, `key` may be a parameter. */
const namesForGemini: readonly string[] = [...names, 'key'];

/** Returns the client's key in the query of a URL; undefined: none. @param path as `plainPath` returns it. */
export function queryKey(path: string, url: string): string | undefined {
  return valueIn(queryPairsOf(url), ...namesAt(path));
}

/** Returns the query of a URL without keys. @param path as `plainPath` returns it. */
export function queryWithoutKeys(path: string, url: string): readonly QueryPair[] {
  return queryPairsOf(url).filter(({ name }) => !namesAt(path).includes(name));
}

const namesAt = (path: string) => (path.startsWith('/gemini/') ? namesForGemini : names);
