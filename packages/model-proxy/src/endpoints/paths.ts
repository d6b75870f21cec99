/** Which endpoint a path means: `/v1/…` and without, as Azure's clients spell it, with slashes too many. */
import type { Endpoint } from './endpoint.js';
import { forwardedEndpoint } from './forwarded-path.js';

/** What a request's path asks for. */
export interface Target {
  readonly endpoint: Endpoint;
  /** The model that the path names (`/engines/gpt-4/completions`), which then counts, not the body's; null: the body names it. */
  readonly model: string | null;
}

export interface Paths {
  /** The usual spellings, at the cost of one look into a table. @param url as it stands in the request. */
  exact(url: string): Target | undefined;
  /** Every other spelling. @param path of {@link plainPath}. */
  match(path: string): Target | undefined;
}

export function createPaths(endpoints: readonly Endpoint[]): Paths {
  const table = new Map<string, Target>();
  for (const endpoint of endpoints) {
    for (const prefix of ['/v1/', '/']) table.set(`${prefix}${endpoint.path}`, { endpoint, model: null });
  }
  const rerank = table.get('/rerank');
  if (rerank !== undefined) table.set(COHERES_RERANK, rerank);

  const inPath = (path: string): Target | undefined => {
    const prefix = modelPrefixes.find((candidate) => path.startsWith(candidate));
    if (prefix === undefined) return undefined;
    const rest = path.slice(prefix.length);
    // `completions` ends `chat/completions`, too, and a model's name may have slashes: the longest endpoint wins.
    const endpoint = endpoints
      .filter((candidate) => rest.endsWith(`/${candidate.path}`))
      .sort((a, b) => b.path.length - a.path.length)[0];
    if (endpoint === undefined) return undefined;
    const model = decode(rest.slice(0, -endpoint.path.length - 1));
    return model === undefined || model === '' ? undefined : { endpoint, model };
  };
  return { exact: (url) => table.get(url), match: (path) => table.get(path) ?? inPath(path) };
}

/** Cohere's clients write v2; what they send is the same. */
const COHERES_RERANK = '/v2/rerank';
/** OpenAI's first API and Azure's name the model in the path. */
const modelPrefixes = ['/openai/deployments/', '/engines/', '/v1/engines/'];

/** Templates of the paths that have a literal, as `/routes` lists them: `/v1/embeddings`, `/engines/{model}/embeddings`. */
export function endpointPaths(endpoints: readonly Endpoint[]): readonly string[] {
  const prefixes = ['/v1/', '/', ...modelPrefixes.map((prefix) => `${prefix}{model}/`)];
  return [...prefixes.flatMap((prefix) => endpoints.map(({ path }) => prefix + path)), COHERES_RERANK];
}

/**
 * The path of a request without query, without doubled slashes and without one at its end; never empty. A proxy may send the whole
 * URL (RFC 9112 §3.2.2).
 */
export function plainPath(url: string): string {
  const origin = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '');
  const end = origin.search(/[?#]/);
  const path = (end === -1 ? origin : origin.slice(0, end)).replace(/\/{2,}/g, '/');
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path === '' ? '/' : path;
}

/**
 * The target of a path that the configuration opens.
 * @param path of {@link plainPath}.
 * @param opened paths below `/v1/`.
 */
export function forwardedTarget(path: string, opened: ReadonlySet<string>): Target | undefined {
  const below = path.replace(/^\/(?:v1\/)?/, '');
  return opened.has(below) ? { endpoint: forwardedEndpoint(below), model: null } : undefined;
}

/** @returns undefined: the escapes are broken. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // A fault of the client's spelling: there is no such path.
    return undefined;
  }
}
