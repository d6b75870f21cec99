/** Sends management requests to a running proxy. */
import { parseJson } from '@rackless/daemon/text/json.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';

/** A running proxy, and the key of its administrator. */
export interface ProxyAddress {
  readonly url: string;
  readonly key: string;
}

/** A request failed. The message is one line for the operator. */
export class ProxyCallError extends Error {
  override readonly name = 'ProxyCallError';
}

const TIMEOUT_MS = 30_000;

/** Sends a request. @returns the JSON object of the answer. @throws {ProxyCallError} */
export async function callProxy(
  { url, key }: ProxyAddress,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const base = withoutTrailingSlashes(url);
  const place = `${method} ${maskUrl(base)}${path.split('?', 1)[0] ?? ''}`;
  let status: number;
  let text: string;
  try {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    status = response.status;
    text = await response.text();
  } catch (error) {
    throw new ProxyCallError(`${place}: ${reasonOf(error)}`, { cause: error });
  }
  const value = parseJson(text);
  if (status === 200 && typeof value === 'object' && value !== null) return { ...value };
  const hint = status === 401 ? ': set LITELLM_MASTER_KEY to the master key of the proxy' : '';
  throw new ProxyCallError(`${place}: status ${status}: ${plainLine(messageOf(value) ?? text.slice(0, 200))}${hint}`);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}

function messageOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('error' in value)) return undefined;
  const { error } = value;
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
  return typeof error.message === 'string' ? error.message : undefined;
}
