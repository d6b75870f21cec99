/**
 * Finds and removes wanted fields that come before the file in a form. LiteLLM's clients name the
 * deployment in such fields. The proxy does not wait for the file.
 */
import { boundaryOf, dispositionOf, MultipartError, type Disposition } from '../exchange/request/multipart.js';

/** Size of a form's beginning that is searched for fields. */
const MAX_SEARCHED_BYTES = 65_536;
const HEADER_END = Buffer.from('\r\n\r\n');

/** The fields, and the rest of the form's beginning. */
export interface FormHead {
  /** Values of the wanted fields by name. If a field occurs twice, the first value. */
  readonly fields: ReadonlyMap<string, string>;
  /** All bytes that were pushed, without the wanted fields. */
  readonly rest: Buffer;
  /** Number of removed bytes. */
  readonly removed: number;
}

/** Reads the beginning of a form. */
export class FormHeadReader {
  readonly #delimiter: Buffer;
  /** A line end and the delimiter. These bytes end a value. */
  readonly #valueEnd: Buffer;
  readonly #wanted: ReadonlySet<string>;
  /**
   * Memory for the bytes so far. Its size doubles, so that not each of many small chunks causes a copy of all earlier
   * bytes.
   */
  #memory: Buffer = Buffer.alloc(0);
  #length = 0;
  readonly #fields = new Map<string, string>();
  /** The forwarded parts before `#restFrom`. */
  readonly #rest: Buffer[] = [];
  #restFrom = 0;
  /**
   * Start of the current part's delimiter. A form with a preamble, which no client sends, is
   * forwarded unchanged.
   */
  #partStart = 0;
  /** The current part, if its headers are complete. */
  #part: { readonly name: string | null; readonly valueStart: number } | undefined;
  /** The end of the headers or of the value does not start before this offset. */
  #searchFrom = 0;

  /** Makes the reader. @returns undefined if the content type is not a form, or has no boundary. */
  static of(contentType: string, wanted: ReadonlySet<string>): FormHeadReader | undefined {
    const boundary = /^\s*multipart\/form-data\s*;/i.test(contentType) ? boundaryOf(contentType) : undefined;
    return boundary === undefined ? undefined : new FormHeadReader(boundary, wanted);
  }

  private constructor(boundary: string, wanted: ReadonlySet<string>) {
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1');
    this.#valueEnd = Buffer.from(`\r\n--${boundary}`, 'latin1');
    this.#wanted = wanted;
  }

  /** Reads the next chunk. @returns undefined if more bytes are needed. */
  push(chunk: Buffer): FormHead | undefined {
    const length = this.#length + chunk.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#memory.length));
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    chunk.copy(this.#memory, this.#length);
    this.#length = length;
    return this.#readParts() || length >= MAX_SEARCHED_BYTES ? this.#head() : undefined;
  }

  /** Returns the fields and the bytes so far. Called when the form has ended. */
  finish(): FormHead {
    return this.#head();
  }

  #head(): FormHead {
    const rest = Buffer.concat([...this.#rest, this.#memory.subarray(this.#restFrom, this.#length)]);
    return { fields: this.#fields, rest, removed: this.#length - rest.length };
  }

  /**
   * Reads the parts that have arrived, from where the previous call stopped.
   * @returns true if the reader needs no more bytes: a file, an unclear part or the end of the form follows.
   */
  #readParts(): boolean {
    const bytes = this.#memory.subarray(0, this.#length);
    for (;;) {
      if (this.#part === undefined) {
        const lineEnd = this.#partStart + this.#delimiter.length;
        if (bytes.length < lineEnd + 2) return false;
        // Any other line ends the fields: the closing delimiter, or a body that is not a form.
        if (bytes.compare(this.#delimiter, 0, undefined, this.#partStart, lineEnd) !== 0) return true;
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
      const nextPart = valueEnd + 2;
      if (name !== null && this.#wanted.has(name)) {
        if (!this.#fields.has(name)) this.#fields.set(name, bytes.toString('utf8', valueStart, valueEnd).trim());
        this.#rest.push(bytes.subarray(this.#restFrom, this.#partStart));
        this.#restFrom = nextPart;
      }
      this.#partStart = nextPart;
      this.#part = undefined;
    }
  }

  /**
   * Searches for a marker.
   * @param from the first possible offset.
   * @returns the marker's offset; -1: more bytes are needed. The next search then skips these bytes.
   */
  #find(bytes: Buffer, marker: Buffer, from: number): number {
    const markerStart = bytes.indexOf(marker, Math.max(from, this.#searchFrom));
    this.#searchFrom = markerStart === -1 ? Math.max(from, bytes.length - marker.length + 1) : 0;
    return markerStart;
  }
}

/**
 * Reads the Content-Disposition.
 * @returns undefined if it is ambiguous, and the upstream must decide.
 */
function readableDisposition(headers: string): Disposition | undefined {
  try {
    return dispositionOf(headers);
  } catch (error) {
    if (error instanceof MultipartError) return undefined;
    throw error;
  }
}
