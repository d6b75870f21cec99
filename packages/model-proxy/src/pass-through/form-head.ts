/**
 * The fields of a form that stand before its file, found while it arrives: LiteLLM's clients name the deployment there. They are for
 * this proxy and leave the form; the file is never waited for.
 */
import { boundaryOf, dispositionOf, MultipartError, type Disposition } from '../endpoints/multipart.js';

/** How much of a form is looked at for fields; a longer field is no name of anything. */
const LOOKED_AT_BYTES = 65_536;
const HEADER_END = Buffer.from('\r\n\r\n');

/** What was found. */
export interface FormHead {
  /** Values of the wanted fields, by name; of two the first. */
  readonly fields: ReadonlyMap<string, string>;
  /** Everything that was pushed, without those fields. */
  readonly rest: Buffer;
  /** Bytes that were taken out. */
  readonly removed: number;
}

export class FormHeadReader {
  readonly #delimiter: Buffer;
  readonly #wanted: ReadonlySet<string>;
  #bytes: Buffer = Buffer.alloc(0);

  /** @returns undefined: a content type that is no form, or has no boundary. */
  static of(contentType: string, wanted: ReadonlySet<string>): FormHeadReader | undefined {
    const boundary = /^\s*multipart\/form-data\s*;/i.test(contentType) ? boundaryOf(contentType) : undefined;
    return boundary === undefined ? undefined : new FormHeadReader(boundary, wanted);
  }

  private constructor(boundary: string, wanted: ReadonlySet<string>) {
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1');
    this.#wanted = wanted;
  }

  /** @returns undefined: more has to come before it is known. */
  push(chunk: Buffer): FormHead | undefined {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    return this.#read(this.#bytes.length >= LOOKED_AT_BYTES);
  }

  /** The form has ended, or nothing more of it can come. */
  finish(): FormHead {
    return this.#read(true) ?? { fields: new Map(), rest: this.#bytes, removed: 0 };
  }

  /** @param isAll what is there has to do. */
  #read(isAll: boolean): FormHead | undefined {
    const bytes = this.#bytes;
    const fields = new Map<string, string>();
    const kept: Buffer[] = [];
    let keptFrom = 0;
    // No form begins otherwise, but for a preamble, which nobody writes: such a form is passed on as it is.
    let at = 0;
    const done = (): FormHead => {
      const rest = Buffer.concat([...kept, bytes.subarray(keptFrom)]);
      return { fields, rest, removed: bytes.length - rest.length };
    };
    for (;;) {
      const lineEnd = at + this.#delimiter.length;
      if (bytes.length < lineEnd + 2) return isAll ? done() : undefined;
      // Anything else ends it: the last delimiter, or no form at all.
      if (bytes.compare(this.#delimiter, 0, undefined, at, lineEnd) !== 0) return done();
      if (bytes[lineEnd] !== 0x0d || bytes[lineEnd + 1] !== 0x0a) return done();
      const headEnd = bytes.indexOf(HEADER_END, lineEnd);
      if (headEnd === -1) return isAll ? done() : undefined;
      const part = readableDisposition(bytes.toString('utf8', lineEnd, headEnd));
      if (part === undefined || part.isFile) return done();
      const { name } = part;
      const valueStart = headEnd + HEADER_END.length;
      const next = bytes.indexOf(Buffer.concat([Buffer.from('\r\n'), this.#delimiter]), valueStart);
      if (next === -1) return isAll ? done() : undefined;
      if (name !== null && this.#wanted.has(name)) {
        if (!fields.has(name)) fields.set(name, bytes.toString('utf8', valueStart, next).trim());
        kept.push(bytes.subarray(keptFrom, at));
        keptFrom = next + 2;
      }
      at = next + 2;
    }
  }
}

/** @returns undefined: it could be read in two ways, which is for the upstream to do. */
function readableDisposition(headers: string): Disposition | undefined {
  try {
    return dispositionOf(headers);
  } catch (error) {
    if (error instanceof MultipartError) return undefined;
    throw error;
  }
}
