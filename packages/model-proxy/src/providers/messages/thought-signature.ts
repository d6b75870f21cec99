/**
 * Gemini's signatures of thoughts. Gemini 3 rejects a conversation whose tool calls lack the signatures that it sent.
 * Anthropic's blocks have no place for signatures, so the id of a call contains its signature. Clients send ids back
 * unchanged.
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import { createHash } from 'node:crypto';
import type { Block } from '../anthropic/content.js';
import { recordOf, textOf } from '../anthropic/values.js';

/** LiteLLM separates the id and the signature with the same text. */
const MARK = '__thought__';

/** The providers that send signatures, and that must get them back. Others may reject an unknown member of a call. */
const signing: ReadonlySet<string> = new Set(['gemini', 'vertex_ai', 'vertex_ai_beta']);

/** Returns whether a provider must get the signatures back. */
export const needsSignatures = (provider: string): boolean => signing.has(provider);

/** Returns the id of a call for the client. @param extra the member `extra_content` of the call. */
export function signedId(id: string, extra: unknown): string {
  const signature = textOf(recordOf(recordOf(extra)?.['google'])?.['thought_signature']);
  // Anthropic's ids contain only letters, digits, `_` and `-`.
  return signature === undefined ? id : `${id}${MARK}${Buffer.from(signature).toString('base64url')}`;
}

/** Splits the id of a call: the upstream's id, and the members of the call with the signature, if the id has one. */
export function splitSignedId(signed: string): { readonly id: string; readonly members: Block } {
  const [id = '', ...rest] = signed.split(MARK);
  if (rest.length === 0) return { id, members: {} };
  const signature = Buffer.from(rest.join(MARK), 'base64url').toString();
  return { id, members: { extra_content: { google: { thought_signature: signature } } } };
}

/** Returns the positions in JSON where an id may have a signature, in order; empty if there are more than `maximum`. */
export function signatureMarks(json: Buffer, maximum: number): readonly number[] {
  const marks: number[] = [];
  for (let at = json.indexOf(MARK); at !== -1; at = json.indexOf(MARK, at + MARK.length)) {
    if (marks.length === maximum) return [];
    marks.push(at);
  }
  return marks;
}

/** Ids up to this length stay unchanged. Bedrock accepts at most this length. */
const MAX_ID_LENGTH = 64;

/** Number of hexadecimal digits that replace a signature. */
const DIGEST_LENGTH = 16;

/**
 * Replaces the signature in the id of a call by a short digest. Without any replacement, the ids of two calls could
 * become equal, because the proxy numbers the calls of an answer without ids. Short ids stay unchanged.
 */
export function shortId(signed: string): string {
  const [id = '', ...rest] = signed.split(MARK);
  if (rest.length === 0 || signed.length <= MAX_ID_LENGTH) return signed;
  return `${id}_${createHash('sha256').update(rest.join(MARK)).digest('hex').slice(0, DIGEST_LENGTH)}`;
}
