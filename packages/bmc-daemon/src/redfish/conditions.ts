/** ETags, and the conditions If-Match and If-None-Match (RFC 9110 §13.1). */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The conditions that a request sets for the ETag of its resource. */
export interface Preconditions {
  /** Value of If-Match. */
  readonly ifMatch?: string | undefined;
  /** Value of If-None-Match. */
  readonly ifNoneMatch?: string | undefined;
}

/**
 * No conditions. Used to read a resource that is part of the answer, but not the target of the
 * request. The request's conditions do not apply to it.
 */
export const unconditional: Preconditions = {};

/** Returns the conditions in the headers of a request. */
export function preconditionsOf({ headers }: Pick<IncomingMessage, 'headers'>): Preconditions {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

/** Returns a strong, quoted entity tag of a text. */
export function entityTag(text: string): string {
  return tagOfDigest(createHash('sha256').update(text).digest('base64url'));
}

/**
 * Returns the entity tag for a SHA-256 digest in base64url. It uses 132 bits, enough to make each
 * body's tag unique.
 */
export function tagOfDigest(digest: string): string {
  return `"${digest.slice(0, 22)}"`;
}

/**
 * Returns whether If-Match allows the request: the header is `*`, or contains the tag (strong
 * comparison).
 */
export function ifMatchHolds(header: string, etag: string): boolean {
  return header.trim() === '*' || tags(header).includes(etag);
}

/**
 * Returns whether If-None-Match is `*` or contains the tag. Then the condition is false (RFC 9110):
 * a read gets 304, a write 412. Weak comparison: `W/"x"` equals `"x"`.
 */
export function ifNoneMatchMatches(header: string, etag: string): boolean {
  // Fast path: nearly every client sends a single tag.
  if (header === etag) return true;
  return header.trim() === '*' || tags(header).some((tag) => tag.replace(/^W\//, '') === etag);
}

/**
 * Returns the tags of a header; an empty list if the header is malformed, such as `"x"foobar`. Ignores empty
 * elements, such as the one after the comma of `"x",` (RFC 9110 §5.6.1.2).
 */
function tags(header: string): readonly string[] {
  // No two parts of the pattern match the same spaces, so a long header takes no longer than others.
  if (!/^[\s,]*(W\/)?"[^"]*"(\s*,[\s,]*(W\/)?"[^"]*")*[\s,]*$/.test(header)) return [];
  return header.match(/(W\/)?"[^"]*"/g) ?? [];
}
