/** Finds the fields of a form while it arrives. Nothing is kept but offsets and short texts. @see RFC 7578, RFC 2046 §5.1 */

/** One part: its name and where its value lies, in bytes from the start of the body. */
export interface FormField {
  /** null: the part has none. */
  readonly name: string | null;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** null: nobody wanted it. */
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
  #current: { readonly name: string | null; readonly valueStart: number } | undefined;
  /** Of its value, what has been dropped from the window; null: nobody wants it. */
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

  /** The names of all parts that have begun, in their order. */
  get names(): readonly (string | null)[] {
    const ended = this.#fields.map(({ name }) => name);
    return this.#current === undefined ? ended : [...ended, this.#current.name];
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
    const name = nameIn(this.#window.toString('utf8', 0, end));
    this.#drop(end + HEADER_END.length);
    this.#current = { name, valueStart: this.#windowStart };
    this.#value = name !== null && this.#wanted.has(name) ? Buffer.alloc(0) : null;
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

/** RFC 7578 §4.2. @throws {MultipartError} two names: another reader might take the other. */
function nameIn(headers: string): string | null {
  const dispositions = headers.split('\r\n').filter((line) => /^content-disposition\s*:/i.test(line));
  const [disposition] = dispositions;
  if (disposition === undefined) return null;
  const names = [...disposition.matchAll(/;\s*name\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/gi)];
  if (dispositions.length > 1 || names.length > 1) throw new MultipartError('a part has two names');
  return names[0]?.[1] ?? names[0]?.[2] ?? null;
}
