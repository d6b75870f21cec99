/** ETags: how a body gets one, and what If-Match and If-None-Match say about it (RFC 9110 §13.1). */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Conditions of a request for the ETag of its resource. */
export interface Preconditions {
  /** Value of If-Match. */
  readonly ifMatch?: string | undefined;
  /** Value of If-None-Match. */
  readonly ifNoneMatch?: string | undefined;
}

/** For a resource that an answer shows: the preconditions of the request are about another one. */
export const unconditional: Preconditions = {};

/** The preconditions in the headers of a request. */
export function preconditionsOf({ headers }: Pick<IncomingMessage, 'headers'>): Preconditions {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

/** A strong, quoted entity tag of this text. */
export function entityTag(text: string): string {
  return tagOfDigest(createHash('sha256').update(text).digest('base64url'));
}

/** The entity tag of a text whose SHA-256 this is, in base64url. 128 bits are enough: no two bodies have one tag. */
export function tagOfDigest(digest: string): string {
  return `"${digest.slice(0, 22)}"`;
}

/** Whether a write may go on: the tag is among those of If-Match, by strong comparison, or the header is `*`. */
export function ifMatchHolds(header: string, etag: string): boolean {
  return header.trim() === '*' || tags(header).includes(etag);
}

/** Whether the client has this body already (304): weak comparison, so `W/"x"` counts as `"x"`. */
export function ifNoneMatchHolds(header: string, etag: string): boolean {
  // Nearly every client sends back the one tag that it was given.
  if (header === etag) return true;
  return header.trim() === '*' || tags(header).some((tag) => tag.replace(/^W\//, '') === etag);
}

/** The header's tags; none where it is not a list of tags at all, such as `"x"foobar`. */
function tags(header: string): readonly string[] {
  if (!/^\s*(W\/)?"[^"]*"(\s*,\s*(W\/)?"[^"]*")*\s*$/.test(header)) return [];
  return header.match(/(W\/)?"[^"]*"/g) ?? [];
}
