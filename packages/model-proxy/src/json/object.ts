/**
 * A JSON object as received: its bytes, and the names and positions of its members. Values are not
 * parsed.
 */

import type { KeySketch } from './key-sketch.js';

/** A member of an object. Offsets count bytes from the first byte of the text (for a request: of its body). */
export interface JsonMember {
  /** The key, with escapes resolved. */
  readonly key: string;
  /**
   * Whether the text spells the key with escapes (`"mod\u0065l"`). Other JSON parsers may read such
   * a key differently.
   */
  readonly escaped: boolean;
  /** Position of the key's opening quote. */
  readonly keyStart: number;
  /** Position of the value's first byte. */
  readonly valueStart: number;
  /** Position after the value's last byte. */
  readonly valueEnd: number;
}

/** A complete, well-formed JSON object. */
export interface JsonObject {
  /** The whole text, as received. */
  readonly chunks: readonly Buffer[];
  /** Total bytes of all chunks. */
  readonly length: number;
  /** Position of the opening brace. */
  readonly start: number;
  /** Position after the closing brace. */
  readonly end: number;
  /** Members of the outermost object in the order of the text, including duplicates. */
  readonly members: readonly JsonMember[];
  /** Names of members of nested objects. */
  readonly innerKeys: KeySketch;
  /**
   * Long parts of strings, in order, such as an image or a document. A search for a member's name
   * can skip them.
   */
  readonly longTexts: readonly { readonly start: number; readonly end: number }[];
}

/** Reports that a text is not a JSON object, or exceeds a limit. The message names the fault; `offset` counts bytes. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * A change of the text: `replacement` replaces the bytes from `start` (inclusive) to `end`
 * (exclusive).
 */
export interface JsonEdit {
  readonly start: number;
  readonly end: number;
  readonly replacement: Buffer;
}
