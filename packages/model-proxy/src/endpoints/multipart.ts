/** Finds the fields of a form while it arrives. Nothing is kept but offsets and short texts. @see RFC 7578, RFC 2046 §5.1 */

/** One part: its name and where its value lies, in bytes from the start of the body. */
export interface FormField {
  /** null: the part has none. */
  readonly name: string | null;
  /** Whether it has a file's name, too. */
  readonly isFile: boolean;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** null: it is a file, or nobody wanted it. */
  readonly value: string | null;
}

export interface Form {
  readonly fields: readonly FormField[];
  /** Where the first part's delimiter begins: a further part may be put in here. */
  readonly start: number;
}

/** The body is no form. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

/** Far more than any client writes above a part. */
const MAX_HEADER_BYTES = 16_384;
const MAX_FIELDS = 1000;
/** Of a value that is kept; no name of a model comes near. */
const MAX_VALUE_BYTES = 16_384;
const CRLF = Buffer.from('\r\n');
const DASHES = Buffer.from('--');
const HEADER_END = Buffer.from('\r\n\r\n');

/** The boundary that a content type names; undefined: none that can be one. */
export function boundaryOf(contentType: string): string | undefined {
  const match = /;\s*boundary=(?:"([^"\r\n]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType);
  return match?.[1] ?? match?.[2];
}

export class MultipartScanner {
  readonly #delimiter: Buffer;
  readonly #wanted: ReadonlySet<string>;
  #state: 'content' | 'delimiter' | 'headers' | 'done' = 'content';
  /** What can not be decided yet. The first delimiter has no line before it; with this one it looks like the others. */
  #window: Buffer = CRLF;
  /** Offset of the window's first byte. */
  #windowStart = -CRLF.length;
  readonly #fields: FormField[] = [];
  /** The part whose value is being read; undefined before the first. */
  #current: (Disposition & { readonly valueStart: number }) | undefined;
  /** Of its value, what has been dropped from the window; null: it is not kept. */
  #value: Buffer | null = null;
  #start: number | undefined;

  /** @param wanted names of the fields whose values are kept. */
  constructor(boundary: string, wanted: ReadonlySet<string> = new Set()) {
    this.#wanted = wanted;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /** Those that have come whole. */
  get fields(): readonly FormField[] {
    return this.#fields;
  }

  /** @throws {MultipartError} */
  push(chunk: Buffer): void {
    if (this.#state === 'done') return;
    this.#window = Buffer.concat([this.#window, chunk]);
    while (this.#step());
  }

  /** All parts that have begun, in their order. */
  get begun(): readonly Disposition[] {
    return this.#current === undefined ? this.#fields : [...this.#fields, this.#current];
  }

  /** @throws {MultipartError} the last delimiter has not come. */
  finish(): Form {
    if (this.#state !== 'done' || this.#start === undefined)
      throw new MultipartError('the closing boundary is missing');
    return { fields: this.#fields, start: this.#start };
  }

  /** @returns false: more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'content':
        return this.#content();
      case 'delimiter':
        return this.#behindDelimiter();
      case 'headers':
        return this.#headers();
      case 'done':
        return false;
    }
  }

  #content(): boolean {
    const at = this.#window.indexOf(this.#delimiter);
    if (at === -1) {
      // All but what may be the beginning of a delimiter.
      const sure = Math.max(0, this.#window.length - this.#delimiter.length + 1);
      this.#keepValue(sure);
      this.#drop(sure);
      return false;
    }
    const offset = this.#windowStart + at;
    this.#start ??= offset + CRLF.length;
    if (this.#current !== undefined) {
      if (this.#fields.length === MAX_FIELDS) throw new MultipartError(`it has more than ${MAX_FIELDS} parts`);
      this.#keepValue(at);
      this.#fields.push({ ...this.#current, valueEnd: offset, value: this.#value?.toString() ?? null });
    }
    this.#drop(at + this.#delimiter.length);
    this.#state = 'delimiter';
    return true;
  }

  #behindDelimiter(): boolean {
    if (this.#window.length < DASHES.length) return false;
    if (this.#window.subarray(0, DASHES.length).equals(DASHES)) {
      this.#state = 'done';
      return false;
    }
    const end = this.#window.indexOf(CRLF);
    if (end === -1 && this.#window.length <= MAX_HEADER_BYTES) return false;
    // RFC 2046 allows white space alone behind a boundary; a longer word would be another boundary to another reader.
    if (end === -1 || !/^[ \t]*$/.test(this.#window.toString('latin1', 0, end)))
      throw new MultipartError('something stands behind a boundary');
    // The line end stays: a part without headers has its empty line right behind it.
    this.#drop(end);
    this.#state = 'headers';
    return true;
  }

  #headers(): boolean {
    const end = this.#window.indexOf(HEADER_END);
    if (end === -1 || end > MAX_HEADER_BYTES) {
      if (this.#window.length > MAX_HEADER_BYTES) throw new MultipartError('the headers of a part are too long');
      return false;
    }
    const { name, isFile } = dispositionOf(this.#window.toString('utf8', 0, end));
    this.#drop(end + HEADER_END.length);
    this.#current = { name, isFile, valueStart: this.#windowStart };
    this.#value = name !== null && !isFile && this.#wanted.has(name) ? Buffer.alloc(0) : null;
    this.#state = 'content';
    return true;
  }

  /** @param count of the window's bytes, which are the value's. */
  #keepValue(count: number): void {
    if (this.#value === null) return;
    if (this.#value.length + count > MAX_VALUE_BYTES)
      throw new MultipartError(`the field '${this.#current?.name ?? ''}' is too long`);
    this.#value = Buffer.concat([this.#value, this.#window.subarray(0, count)]);
  }

  #drop(count: number): void {
    this.#window = this.#window.subarray(count);
    this.#windowStart += count;
  }
}

/** What a part says of itself. */
export interface Disposition {
  /** null: it has none. */
  readonly name: string | null;
  /** Whether it has a file's name, too. */
  readonly isFile: boolean;
}

/** Name, quoted text, bare word; one after another, so that nothing is found inside of a quoted text. */
const parameters = /;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g;

/**
 * RFC 7578 §4.2.
 * @param headers of a part, as text.
 * @throws {MultipartError} two names: another reader might take the other.
 */
export function dispositionOf(headers: string): Disposition {
  const dispositions = headers.split('\r\n').filter((line) => /^content-disposition\s*:/i.test(line));
  const given = [...(dispositions[0] ?? '').matchAll(parameters)].map(
    ([, name = '', quoted, bare]) => [name.toLowerCase(), quoted ?? bare] as const,
  );
  const names = given.filter(([name]) => name === 'name');
  if (dispositions.length > 1 || names.length > 1) throw new MultipartError('a part has two names');
  // `filename*` (RFC 8187) is not for forms, and some send it all the same.
  const isFile = given.some(([name]) => name === 'filename' || name === 'filename*');
  return { name: names[0]?.[1] ?? null, isFile };
}
