/** Which paths are passed through raw, and what of them the upstream sees. */
import { plainPath } from '../endpoints/paths.js';

/** How the deployment of a path is found. */
export type RawTarget =
  /** `/openai/{rest}`, `/vllm/{rest}`: whatever the provider has. */
  | { readonly kind: 'provider'; readonly family: 'openai' | 'vllm'; readonly rest: string }
  /** Files and batches. @see https://docs.litellm.ai/docs/files_endpoints */
  | { readonly kind: 'files'; readonly provider: string | null; readonly rest: string }
  /** A WebSocket. @see https://docs.litellm.ai/docs/realtime */
  | { readonly kind: 'realtime'; readonly rest: string };

/** All that are passed on. */
export const rawMethods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const providerPath = /^\/(openai|openai_passthrough|vllm)\/(.+)$/;
const filesPath = /^(?:\/([\w-]+)(?=\/v1\/))?(?:\/v1)?\/((?:files|batches)(?:\/.*)?)$/;
const realtimePath = /^(?:\/v1)?\/(realtime)$/;

/** What `/routes` lists of them: templates, each with its methods. A WebSocket is asked for by GET. */
export const rawPaths: ReadonlyMap<string, readonly string[]> = new Map([
  ...['/openai/{path}', '/openai_passthrough/{path}', '/vllm/{path}'].map((path) => [path, rawMethods] as const),
  ...['files', 'files/{path}', 'batches', 'batches/{path}']
    .flatMap((path) => [`/v1/${path}`, `/${path}`, `/{provider}/v1/${path}`])
    .map((path) => [path, rawMethods] as const),
  ...['/v1/realtime', '/realtime'].map((path) => [path, ['GET']] as const),
]);

/** @param path without query, slashes collapsed. */
export function acceptsPath(path: string): boolean {
  return providerPath.test(path) || filesPath.test(path) || realtimePath.test(path);
}

/**
 * What a request's URL asks for, whole URLs (RFC 9112 §3.2.2) too: their host counts for nothing.
 * @returns undefined: nothing that is passed through, or a path that could mean another place to the upstream.
 */
export function rawTarget(url: string): RawTarget | undefined {
  const path = plainPath(url);
  // A slash at the end means something to some servers: /metrics/ of vLLM.
  const slash = /^[^?#]*[^/]\/+(?:[?#]|$)/.test(url) ? '/' : '';
  const [, prefix, below] = providerPath.exec(path) ?? [];
  if (below !== undefined) {
    if (!staysBelow(below)) return undefined;
    return { kind: 'provider', family: prefix === 'vllm' ? 'vllm' : 'openai', rest: below + slash };
  }
  const [, provider, files] = filesPath.exec(path) ?? [];
  if (files !== undefined)
    return staysBelow(files) ? { kind: 'files', provider: provider ?? null, rest: files + slash } : undefined;
  return realtimePath.test(path) ? { kind: 'realtime', rest: 'realtime' } : undefined;
}

/** The upstream unescapes once; a server in front of it may have done so before. */
const UNESCAPED_TIMES = 3;

/**
 * Whether a path stays below the base that it is put behind, however often its escapes are undone and whatever separates its
 * segments: `..`, `%2e%2e`, `..%2f`, `..;` (Java's servers), backslashes.
 */
export function staysBelow(rest: string): boolean {
  // Bare, these may not even stand in a request's first line.
  if (/[^\x21-\x7e]/.test(rest)) return false;
  let text = rest;
  for (let round = 0; round <= UNESCAPED_TIMES; round += 1) {
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    if (/[\\\x00-\x1f\x7f]/.test(text)) return false;
    if (text.split('/').some((segment) => /^\.{1,2}(?:;|$)/.test(segment))) return false;
    let next: string;
    try {
      next = decodeURIComponent(text);
    } catch {
      // Broken escapes: on the wire nobody knows what they will be taken for. Once undone, a percent sign is only that.
      return round > 0;
    }
    if (next === text) return true;
    text = next;
  }
  // Escapes of escapes of escapes are nobody's file name.
  return false;
}

/**
 * The absolute URL of a request to an upstream, without query.
 * @param apiBase of a deployment: `https://host/v1`.
 */
export function upstreamUrl(apiBase: string, target: RawTarget): string {
  const versioned = apiBase.endsWith('/v1');
  if (target.kind !== 'provider') return `${apiBase}/${target.rest}`;
  const { family, rest } = target;
  // vLLM's own paths (/metrics, /tokenize, /score) stand beside /v1, not below it.
  if (family === 'vllm') return `${versioned ? apiBase.slice(0, -'/v1'.length) : apiBase}/${rest}`;
  return `${apiBase}/${versioned ? rest.replace(/^v1\//, '') : rest}`;
}
