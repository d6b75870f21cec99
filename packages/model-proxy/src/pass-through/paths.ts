/**
 * Recognizes raw requests by their path, and makes the URLs for the upstream. The proxy forwards
 * the body of a raw request without a translation.
 */
import { endpoints } from '../endpoints/index.js';
import { createPaths, decode, plainPath } from '../endpoints/paths.js';
import { geminiPath } from '../providers/openai/addressed.js';

/** The providers whose paths are all available. */
export type RawFamily = 'openai' | 'vllm' | 'gemini';

/** The target of a raw request. */
export type RawTarget =
  /** `/openai/{rest}`, `/vllm/{rest}`, `/gemini/{rest}`: all paths of the provider. */
  | { readonly kind: 'provider'; readonly family: RawFamily; readonly rest: string }
  /** Files and batches. @see https://docs.litellm.ai/docs/files_endpoints */
  | { readonly kind: 'files'; readonly provider: string | null; readonly rest: string }
  /** A stored response, whose id names the deployment. @see https://docs.litellm.ai/docs/response_api */
  | { readonly kind: 'response'; readonly id: string; readonly rest: string }
  /** A WebSocket. @see https://docs.litellm.ai/docs/realtime */
  | { readonly kind: 'realtime'; readonly rest: string };

/** The methods that are forwarded. */
export const rawMethods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const providerPath = /^\/(openai|openai_passthrough|vllm|gemini)\/(.+)$/;
const filesPath = /^(?:\/([\w-]+)(?=\/v1\/))?(?:\/v1)?\/((?:files|batches)(?:\/.*)?)$/;
const realtimePath = /^(?:\/v1)?\/(realtime|responses)$/;
const responsePath = /^(?:\/v1)?\/responses\/([\w=+-]+)(|\/cancel|\/input_items)$/;

/** Path templates → methods, for `/routes`. A WebSocket has GET. */
export const rawPaths: ReadonlyMap<string, readonly string[]> = new Map([
  ...['/openai/{path}', '/openai_passthrough/{path}', '/vllm/{path}', '/gemini/{path}'].map(
    (path) => [path, rawMethods] as const,
  ),
  ...['files', 'files/{path}', 'batches', 'batches/{path}']
    .flatMap((path) => [`/v1/${path}`, `/${path}`, `/{provider}/v1/${path}`])
    .map((path) => [path, rawMethods] as const),
  ...['/v1/realtime', '/realtime'].map((path) => [path, ['GET']] as const),
  ...['/v1/responses/{id}', '/responses/{id}'].flatMap((path) => [
    [path, ['GET', 'DELETE']] as const,
    [`${path}/cancel`, ['POST']] as const,
    [`${path}/input_items`, ['GET']] as const,
  ]),
]);

/** Returns whether requests to a path are raw. @param path result of `plainPath`. */
export function acceptsPath(path: string): boolean {
  return [providerPath, filesPath, realtimePath, responsePath].some((pattern) => pattern.test(path));
}

/** Returns whether a path is that of a stored response, whose id names the deployment. */
export function isResponsePath(path: string): boolean {
  return responsePath.test(path);
}

/**
 * Parses the URL of a request. Ignores the host of an absolute URL (RFC 9112 §3.2.2).
 * @returns undefined if the request is not raw, or if the upstream could read another path.
 */
export function rawTarget(url: string): RawTarget | undefined {
  const path = plainPath(url);
  // Keeps a slash at the end, which some servers need: `/metrics/` of vLLM.
  const slash = /^[^?#]*[^/]\/+(?:[?#]|$)/.test(url) ? '/' : '';
  const [, prefix, below] = providerPath.exec(path) ?? [];
  if (below !== undefined) {
    if (!staysBelow(below)) return undefined;
    return { kind: 'provider', family: familyOf(prefix), rest: below + slash };
  }
  const [, provider, files] = filesPath.exec(path) ?? [];
  if (files !== undefined)
    return staysBelow(files) ? { kind: 'files', provider: provider ?? null, rest: files + slash } : undefined;
  const [, id, rest = ''] = responsePath.exec(path) ?? [];
  if (id !== undefined) return { kind: 'response', id, rest };
  const [, socket] = realtimePath.exec(path) ?? [];
  return socket === undefined ? undefined : { kind: 'realtime', rest: socket };
}

/**
 * Returns one name for all spellings of a raw path that the proxy or an upstream may treat as the same path: escapes
 * are decoded, and case, version, empty segments and parameters after `;` do not count.
 * @param path result of `plainPath`.
 * @returns undefined if the path is not raw.
 */
export function rawName(path: string): string | undefined {
  return acceptsPath(path) ? plainSpelling(path).replace(/\/v1(?=\/)/, '') : undefined;
}

const endpointPaths = createPaths(endpoints);

/**
 * Returns one name for a path of any provider: the part after provider and version. `/v1/batches`,
 * `/openai/v1/batches` and `/hosted_vllm/v1/batches` have the same name. The model in a path of an endpoint
 * (`/engines/{model}/…`, `/openai/deployments/{model}/…`) does not count.
 * @param path result of `plainPath`; also a path that is not raw.
 */
export function nameAtAnyProvider(path: string): string {
  const plain = plainSpelling(path);
  const below = providerPath.exec(plain)?.[2] ?? filesPath.exec(plain)?.[2] ?? plain;
  // Some upstreams have their OpenAI API below a folder: `/v1beta/openai/batches` of Gemini.
  const bare = `/${below}`.replace(/^(?:\/+(?:v\d\w*|openai)(?=\/))*\/+/, '/');
  // Removes the rest of escapes, because a model's name with `%` in the path would match no endpoint.
  const text = bare.replaceAll('%', '');
  const endpoint = endpointPaths.match(text) ?? endpointPaths.match(`/openai${text}`);
  return `*/${endpoint?.endpoint.path ?? bare.slice(1)}`;
}

/** Returns the names in `masterKeyRoutes` that close a raw request. @param path result of `plainPath`. */
export const closingNames = (path: string): readonly string[] => [rawName(path) ?? path, nameAtAnyProvider(path)];

/**
 * Returns the names that an entry for a raw path adds to `masterKeyRoutes`. If the entry has no provider, or if it is
 * for files or batches, it closes the path at all providers: requests may reach the same upstream through each of them.
 * @param path result of `plainPath`.
 * @returns empty if the path is not raw.
 */
export function closedNames(path: string): readonly string[] {
  const name = rawName(path);
  if (name === undefined) return [];
  const atAny = nameAtAnyProvider(path);
  if (/^\*\/(?:files|batches)(?:\/|$)/.test(atAny) || !providerPath.test(path)) return [atAny];
  return [name];
}

function plainSpelling(path: string): string {
  let text = path;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) text = decode(text) ?? text;
  const plain = plainPath(text.replaceAll('\\', '/').replace(/;[^/]*/g, '')).toLowerCase();
  return plain.replace(/^\/openai_passthrough\//, '/openai/');
}

function familyOf(prefix: string | undefined): RawFamily {
  return prefix === 'vllm' || prefix === 'gemini' ? prefix : 'openai';
}

/** Maximum number of times that servers decode a path: the upstream, and servers before it. */
const MAX_DECODINGS = 3;

/**
 * Returns whether a path stays below its base, also after up to {@link MAX_DECODINGS} decodings,
 * and with any separator: `..`, `%2e%2e`, `..%2f`, `..;` (Java servers), backslashes.
 */
export function staysBelow(rest: string): boolean {
  // These characters are invalid in a request line.
  if (/[^\x21-\x7e]/.test(rest)) return false;
  let text = rest;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) {
    // oxlint-disable-next-line no-control-regex -- rejects control characters
    if (/[\\\x00-\x1f\x7f]/.test(text)) return false;
    if (text.split('/').some((segment) => /^\.{1,2}(?:;|$)/.test(segment))) return false;
    let decoded: string;
    try {
      decoded = decodeURIComponent(text);
    } catch {
      // Servers treat invalid escapes in the original path differently. After a decoding, `%` may
      // be a plain character.
      return round > 0;
    }
    if (decoded === text) return true;
    text = decoded;
  }
  // Real file names are not escaped so many times.
  return false;
}

/**
 * Returns the absolute URL of a request to an upstream, without query.
 * @param apiBase the `api_base` of a deployment: `https://host/v1`.
 */
export function upstreamUrl(apiBase: string, target: RawTarget): string {
  const versioned = apiBase.endsWith('/v1');
  if (target.kind !== 'provider') return `${apiBase}/${target.rest}`;
  const { family, rest } = target;
  // vLLM's own paths (/metrics, /tokenize, /score) are next to /v1, not below it.
  if (family === 'vllm') return `${versioned ? apiBase.slice(0, -'/v1'.length) : apiBase}/${rest}`;
  // The paths of Gemini's own API contain the version, so the base of its APIs (/v1beta, /v1beta/openai) is removed.
  if (family === 'gemini') return `${apiBase.replace(geminiPath, '')}/${rest}`;
  return `${apiBase}/${versioned ? rest.replace(/^v1\//, '') : rest}`;
}
