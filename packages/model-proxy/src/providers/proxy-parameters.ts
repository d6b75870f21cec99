/** Parses the values of parameters that the proxy itself uses. */
import { invalidParameter } from '../errors/model.js';

/**
 * Reads a boolean. Accepts the texts `"true"` and `"false"`, which some clients send, as LiteLLM does.
 * @returns undefined: the value is no boolean.
 */
export function asBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  const word = value.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

/**
 * Reads a list of names.
 * @returns empty if there is no value.
 * @throws {ProxyError} 400: the value is not a list of strings.
 */
export function asNames(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw invalidParameter(name, 'must be a list of names');
}
