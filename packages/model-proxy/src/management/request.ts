/** A management request, with everything that its function needs. */
import type { VirtualKey } from '../auth/virtual-key.js';
import { invalidParameter } from '../errors/model.js';
import type { Store } from '../store/store.js';

/** A management request. */
export interface ManagementRequest {
  readonly store: Store;
  readonly query: URLSearchParams;
  /** The JSON object of a POST; empty for a GET, or if the POST has no body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The master key; empty if the configuration has none. */
  readonly clientKeys: ReadonlySet<string>;
  /** The virtual key of the client; undefined: the master key. */
  readonly key: VirtualKey | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Returns a filter of the query; undefined: the filter is missing or empty. */
export function filterIn(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  return text === null || text === '' ? undefined : text;
}

/**
 * Reads a parameter of the query that is an integer.
 * @param options `default`: the result if the query does not have the parameter.
 * @throws {ProxyError} 400: the parameter is not an integer from 1 to `max`.
 */
export function integerIn(
  query: URLSearchParams,
  name: string,
  options: { readonly default: number; readonly max: number },
): number {
  const text = query.get(name);
  if (text === null) return options.default;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > options.max) throw invalidParameter(name, `must be a number from 1 to ${options.max}`);
  return value;
}
