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
  /** Ends a value: the delimiter on a line of its own. */
  readonly #valueEnd: Buffer;
  readonly #wanted: ReadonlySet<string>;
  /** Memory for the bytes so far. It doubles, so that single bytes do not copy all earlier bytes again. */
  #memory: Buffer = Buffer.alloc(0);
  #length = 0;
  readonly #fields = new Map<string, string>();
  readonly #kept: Buffer[] = [];
  #keptFrom = 0;
  /** Start of the delimiter of the current part. No form has a preamble; one that has passes unchanged. */
  #at = 0;
  /** The current part, if its headers are complete. */
  #part: { readonly name: string | null; readonly valueStart: number } | undefined;
  /** The end of the headers or of the value does not start before this offset. */
  #searchFrom = 0;

  /** @returns undefined: a content type that is no form, or has no boundary. */
  static of(contentType: string, wanted: ReadonlySet<string>): FormHeadReader | undefined {
    const boundary = /^\s*multipart\/form-data\s*;/i.test(contentType) ? boundaryOf(contentType) : undefined;
    return boundary === undefined ? undefined : new FormHeadReader(boundary, wanted);
  }

  private constructor(boundary: string, wanted: ReadonlySet<string>) {
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1');
    this.#valueEnd = Buffer.from(`\r\n--${boundary}`, 'latin1');
    this.#wanted = wanted;
  }

  /** @returns undefined: more has to come before it is known. */
  push(chunk: Buffer): FormHead | undefined {
    const length = this.#length + chunk.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#memory.length));
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    chunk.copy(this.#memory, this.#length);
    this.#length = length;
    return this.#readParts() || length >= LOOKED_AT_BYTES ? this.#head() : undefined;
  }

  /** The form has ended, or nothing more of it can come. */
  finish(): FormHead {
    return this.#head();
  }

  #head(): FormHead {
    const rest = Buffer.concat([...this.#kept, this.#memory.subarray(this.#keptFrom, this.#length)]);
    return { fields: this.#fields, rest, removed: this.#length - rest.length };
  }

  /** Continues where the previous call stopped. @returns whether no further field can follow. */
  #readParts(): boolean {
    const bytes = this.#memory.subarray(0, this.#length);
    for (;;) {
      if (this.#part === undefined) {
        const lineEnd = this.#at + this.#delimiter.length;
        if (bytes.length < lineEnd + 2) return false;
        // Any other line ends the fields: the last delimiter, or a body that is no form.
        if (bytes.compare(this.#delimiter, 0, undefined, this.#at, lineEnd) !== 0) return true;
        if (bytes[lineEnd] !== 0x0d || bytes[lineEnd + 1] !== 0x0a) return true;
        const headEnd = this.#find(bytes, HEADER_END, lineEnd);
        if (headEnd === -1) return false;
        const part = readableDisposition(bytes.toString('utf8', lineEnd, headEnd));
        if (part === undefined || part.isFile) return true;
        this.#part = { name: part.name, valueStart: headEnd + HEADER_END.length };
      }
      const { name, valueStart } = this.#part;
      const valueEnd = this.#find(bytes, this.#valueEnd, valueStart);
      if (valueEnd === -1) return false;
      const next = valueEnd + 2;
      if (name !== null && this.#wanted.has(name)) {
        if (!this.#fields.has(name)) this.#fields.set(name, bytes.toString('utf8', valueStart, valueEnd).trim());
        this.#kept.push(bytes.subarray(this.#keptFrom, this.#at));
        this.#keptFrom = next;
      }
      this.#at = next;
      this.#part = undefined;
    }
  }

  /** @param from the end of what precedes it. @returns -1: it is not complete yet, and the next search skips these bytes. */
  #find(bytes: Buffer, end: Buffer, from: number): number {
    const found = bytes.indexOf(end, Math.max(from, this.#searchFrom));
    this.#searchFrom = found === -1 ? Math.max(from, bytes.length - end.length + 1) : 0;
    return found;
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
