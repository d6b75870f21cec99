/** The view of a request that providers get. */
import { invalidParameter } from '../errors/model.js';
import { JsonLimitError, parseWithinLimits, REQUEST_LIMITS } from '../json/parse-within-limits.js';

/** The top-level members of a request. Each value is read only on demand. */
export interface RequestMembers {
  /** Names of the members that go upstream, in order. A name may occur twice. */
  readonly names: readonly string[];
  /**
   * Returns the value of a member as JSON; undefined: the member is missing, null, or does not go
   * upstream. A view if the value is in a single chunk.
   */
  bytes(name: string): Buffer | undefined;
  /**
   * Returns whether a value may contain a member with any of the given names. `false` is certain, `true` is
   * not. The call is cheap.
   * @param keys ASCII.
   */
  mayHold(name: string, keys: readonly string[]): boolean;
  /**
   * Returns whether a value contains any of the texts. Does not search inside of long strings, and does not
   * join the value's chunks.
   * @param texts ASCII.
   * @param accepts decides about a match by up to 32 bytes from its first byte on; absent: accepts
   *   all.
   */
  contains(name: string, texts: readonly Buffer[], accepts?: (following: string) => boolean): boolean;
}

/**
 * Rewrites members for a provider.
 * @returns the new values as JSON; null: removes the member. Other members stay unchanged.
 */
export type Translation = (endpoint: string, members: RequestMembers) => ReadonlyMap<string, Buffer | null>;

/** Names of members, and names inside of members, whose presence in a request requires a translation. */
export interface TranslationTriggers {
  readonly members: readonly string[];
  readonly innerKeys: readonly string[];
}

/**
 * Returns the value of a member; undefined: the member is missing, null, or does not go upstream.
 * @throws {ProxyError} 400: the value exceeds {@link REQUEST_LIMITS}.
 */
export function memberValue(members: RequestMembers, name: string): unknown {
  const bytes = members.bytes(name);
  return bytes === undefined ? undefined : requestValue(name, bytes);
}

/**
 * Parses the value of a member. The proxy has checked that the request is JSON.
 * @throws {ProxyError} as {@link memberValue}.
 */
export function requestValue(name: string, bytes: Buffer): unknown {
  try {
    return parseWithinLimits(bytes.toString(), REQUEST_LIMITS);
  } catch (error) {
    throw error instanceof JsonLimitError ? invalidParameter(name, `is too large: ${error.message}`) : error;
  }
}

/** Returns members as JSON, without those that are undefined. */
export function jsonMembers(values: Readonly<Record<string, unknown>>): [string, Buffer][] {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return present.map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]);
}
