/**
 * Finds the endpoint of a path: with and without `/v1`, in Azure's form, and with doubled slashes.
 */
import type { Endpoint } from './endpoint.js';
import { forwardedEndpoint } from './forwarded-path.js';

/** The endpoint and the model that a path selects. */
export interface Target {
  readonly endpoint: Endpoint;
  /** The path for metrics and logs: `/v1/chat/completions`. */
  readonly route: string;
  /**
   * The model in the path (`/engines/gpt-4/completions`), which has priority over the body's; null:
   * the body names the model.
   */
  readonly model: string | null;
}

/** Finds endpoints by path. */
export interface Paths {
  /** Finds the usual spellings with a single table look-up. @param url as received. With a query: never found. */
  exact(url: string): Target | undefined;
  /** Finds all spellings. @param path result of {@link plainPath}. @returns undefined: no endpoint has the path. */
  match(path: string): Target | undefined;
}

/** Makes the look-up for a list of endpoints. */
export function createPaths(endpoints: readonly Endpoint[]): Paths {
  const table = new Map<string, Target>();
  for (const endpoint of endpoints) {
    const target = targetOf(endpoint, null);
    for (const prefix of ['/v1/', '/']) table.set(`${prefix}${endpoint.path}`, target);
  }
  const rerank = table.get('/rerank');
  if (rerank !== undefined) table.set(COHERE_RERANK, rerank);

  const targetWithModel = (path: string): Target | undefined => {
    const prefix = modelPrefixes.find((candidate) => path.startsWith(candidate));
    if (prefix === undefined) return undefined;
    const rest = path.slice(prefix.length);
    // Both `completions` and `chat/completions` match the end of a path, and a model's name may
    // contain slashes. The longest path has precedence.
    const endpoint = endpoints
      .filter((candidate) => rest.endsWith(`/${candidate.path}`))
      .sort((a, b) => b.path.length - a.path.length)[0];
    if (endpoint === undefined) return undefined;
    const model = decode(rest.slice(0, -endpoint.path.length - 1));
    return model === undefined || model === '' ? undefined : targetOf(endpoint, model);
  };
  return { exact: (url) => table.get(url), match: (path) => table.get(path) ?? targetWithModel(path) };
}

/** Makes a target. It contains the route, so that the metrics of each request need no new text. */
function targetOf(endpoint: Endpoint, model: string | null): Target {
  return { endpoint, route: `/v1/${endpoint.path}`, model };
}

/** Cohere's clients use v2 with the same requests. */
const COHERE_RERANK = '/v2/rerank';
/** Paths of OpenAI's first API and of Azure, which contain the model. */
const modelPrefixes = ['/openai/deployments/', '/engines/', '/v1/engines/'];

/**
 * Returns the path templates of endpoints for `/routes`: `/v1/embeddings`,
 * `/engines/{model}/embeddings`.
 */
export function endpointPaths(endpoints: readonly Endpoint[]): readonly string[] {
  const prefixes = ['/v1/', '/', ...modelPrefixes.map((prefix) => `${prefix}{model}/`)];
  return [...prefixes.flatMap((prefix) => endpoints.map(({ path }) => prefix + path)), COHERE_RERANK];
}

/** Matches most URLs: a path without empty segments, query and fragment. */
const PLAIN = /^(?:\/[\w.-]+)+$/;

/**
 * Returns the path of a request without query, without doubled slashes and without a slash at its
 * end. Also accepts a whole URL, which clients send if they use this server as their HTTP proxy (RFC 9112 §3.2.2).
 * @returns never empty.
 */
export function plainPath(url: string): string {
  if (PLAIN.test(url)) return url;
  const origin = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '');
  const pathEnd = origin.search(/[?#]/);
  const path = (pathEnd === -1 ? origin : origin.slice(0, pathEnd)).replace(/\/{2,}/g, '/');
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path === '' ? '/' : path;
}

/**
 * Makes the target of a path in `forwarded_paths`; undefined: the setting does not have the path.
 * @param path result of {@link plainPath}.
 * @param forwarded results of `parseForwardedPath`.
 */
export function forwardedTarget(path: string, forwarded: ReadonlySet<string>): Target | undefined {
  const relativePath = path.replace(/^\/(?:v1\/)?/, '');
  return forwarded.has(relativePath) ? targetOf(forwardedEndpoint(relativePath), null) : undefined;
}

/** Decodes percent escapes. @returns undefined if an escape is invalid. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // The client has sent an invalid escape. The caller answers 404.
    return undefined;
  }
}
