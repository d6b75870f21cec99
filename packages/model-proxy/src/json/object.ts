/** A JSON object as it was received: its bytes, and where its own members lie in them. Nothing is copied, nothing is parsed. */

import type { KeySketch } from './key-sketch.js';

/** One member of the object itself (not of what it contains). Offsets count bytes from the first byte received. */
export interface JsonMember {
  /** The key, escapes resolved. */
  readonly key: string;
  /** Whether the key was spelled with escapes (`"mod\u0065l"`): another reader may see another key there. */
  readonly escaped: boolean;
  /** The opening quote of the key. */
  readonly keyStart: number;
  /** First byte of the value. */
  readonly valueStart: number;
  /** The byte behind the value. */
  readonly valueEnd: number;
}

/** A whole, well-formed JSON object. */
export interface JsonObject {
  /** As received; together the whole text. */
  readonly chunks: readonly Buffer[];
  /** Bytes of all chunks. */
  readonly length: number;
  /** The opening brace. */
  readonly start: number;
  /** The byte behind the closing brace. */
  readonly end: number;
  /** In the order of the text, duplicates too. */
  readonly members: readonly JsonMember[];
  /** Names of the members of objects inside of it. */
  readonly innerKeys: KeySketch;
  /** Long parts of strings, in order: an image, a document. Whoever looks for a name need not look there. */
  readonly longTexts: readonly { readonly start: number; readonly end: number }[];
}

/** The text is no JSON object. The message names what is wrong; `offset` counts bytes. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** One change of the text: the bytes from `start` up to `end` give way to the replacement. */
export interface JsonEdit {
  readonly start: number;
  readonly end: number;
  readonly replacement: Buffer;
}
