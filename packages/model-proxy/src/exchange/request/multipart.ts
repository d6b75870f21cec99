/**
 * Finds the fields of a form while it arrives, and stores only offsets and short values.
 * @see RFC 7578, RFC 2046 §5.1
 */

/** A part of a form. Offsets count bytes from the start of the body. */
export interface FormField {
  /** null: the part has no name. */
  readonly name: string | null;
  /** Whether the part has a file name. */
  readonly isFile: boolean;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** null: the part is a file, or its name is missing or not in `wanted`. */
  readonly value: string | null;
}

/** A complete form. */
export interface Form {
  readonly fields: readonly FormField[];
  /** Offset of the first part's delimiter. Another part can be inserted here. */
  readonly start: number;
}

/** The body is not a valid form. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

/** Maximum size of a part's headers; clients write far less. */
const MAX_HEADER_BYTES = 16_384;
const MAX_FIELDS = 1000;
/** Maximum size of a value that is stored; names of models are far shorter. */
const MAX_VALUE_BYTES = 16_384;
const CRLF = Buffer.from('\r\n');
const DASHES = Buffer.from('--');
const HEADER_END = Buffer.from('\r\n\r\n');

const MAX_BOUNDARY_LENGTH = 200;

/**
 * Matches a parameter `boundary`, also inside of a quoted text: cpp-httplib, which llama.cpp uses, finds it there, too.
 */
const boundaryParameter = /boundary(?:\*\d*\*?)?\s*=/gi;

/** Matches a character set that contains ASCII. Starlette decodes the names of fields with the set of the form. */
const asciiBased = /^(?:utf-?8|us-ascii|iso-8859-\d+|windows-125\d)$/i;

/** Returns the boundary in a content type; undefined: there is none, or another parser could read another one. */
export function boundaryOf(contentType: string): string | undefined {
  if (contentType.includes('\\') || contentType.match(boundaryParameter)?.length !== 1) return undefined;
  const given = parametersOf(contentType) ?? [];
  if (given.some(([name, value]) => isNamed(name, 'charset') && !asciiBased.test(value))) return undefined;
  const [, value = ''] = given.find(([name]) => name === 'boundary') ?? [];
  const isClear = value.length <= MAX_BOUNDARY_LENGTH && !/^\s|\s$|;/.test(value);
  return isClear && value !== '' ? value : undefined;
}

/** Reads a form in chunks. */
export class MultipartScanner {
  /** Two dashes and the boundary. */
  readonly #delimiter: Buffer;
  readonly #wanted: ReadonlySet<string>;
  #state: 'content' | 'delimiter' | 'headers' | 'done' = 'content';
  /**
   * Bytes that are not read yet. Starts with a CRLF: a delimiter must follow one, but a body may
   * have none before its first delimiter.
   */
  #window: Buffer = CRLF;
  /** Offset of the window's first byte. */
  #windowStart = -CRLF.length;
  readonly #fields: FormField[] = [];
  /** The last part whose headers are complete; undefined before the first part. */
  #current: (Disposition & { readonly valueStart: number }) | undefined;
  /** The bytes of the current part's value so far; null: the value is not stored. */
  #value: Buffer | null = null;
  #start: number | undefined;

  /**
   * @param boundary result of {@link boundaryOf}.
   * @param wanted names of the fields whose values are stored.
   */
  constructor(boundary: string, wanted: ReadonlySet<string> = new Set()) {
    this.#wanted = wanted;
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1');
  }

  /** The complete parts. */
  get fields(): readonly FormField[] {
    return this.#fields;
  }

  /**
   * Reads the next chunk.
   * @throws {MultipartError} if the form is invalid, or has too many parts, too long headers or a too long value.
   */
  push(chunk: Buffer): void {
    this.#window = Buffer.concat([this.#window, chunk]);
    while (this.#step());
  }

  /** The complete parts, then the last part whose headers are complete. If this part is complete, it occurs twice. */
  get begun(): readonly Disposition[] {
    return this.#current === undefined ? this.#fields : [...this.#fields, this.#current];
  }

  /**
   * Ends the form.
   * @throws {MultipartError} if the closing delimiter is missing.
   */
  finish(): Form {
    if (this.#state !== 'done' || this.#start === undefined)
      throw new MultipartError('the closing boundary is missing');
    return { fields: this.#fields, start: this.#start };
  }

  /** Reads the next element of the form. @returns false if the element is incomplete, or the form has ended. */
  #step(): boolean {
    switch (this.#state) {
      case 'content':
        return this.#content();
      case 'delimiter':
        return this.#afterDelimiter();
      case 'headers':
        return this.#headers();
      case 'done':
        return this.#afterEnd();
    }
  }

  #content(): boolean {
    const at = this.#window.indexOf(this.#delimiter);
    if (at === -1) {
      // The end of the window may be a CRLF and the beginning of a delimiter.
      const sure = Math.max(0, this.#window.length - CRLF.length - this.#delimiter.length + 1);
      this.#storeValue(sure);
      this.#drop(sure);
      return false;
    }
    const valueLength = at - CRLF.length;
    const beginsLine = valueLength >= 0 && this.#window.subarray(valueLength, at).equals(CRLF);
    this.#start ??= this.#windowStart + at;
    // Other parsers find a boundary after a single line feed (Go, Werkzeug) or inside of a line (Django).
    if (this.#start > CRLF.length || (this.#current === undefined && !beginsLine))
      throw new MultipartError('it has text before the first boundary');
    if (!beginsLine) throw new MultipartError('it has a boundary without a CRLF of its own before it');
    if (this.#current !== undefined) {
      if (this.#fields.length === MAX_FIELDS) throw new MultipartError(`it has more than ${MAX_FIELDS} parts`);
      this.#storeValue(valueLength);
      const valueEnd = this.#windowStart + valueLength;
      this.#fields.push({ ...this.#current, valueEnd, value: this.#value?.toString() ?? null });
    }
    this.#drop(at + this.#delimiter.length);
    this.#state = 'delimiter';
    return true;
  }

  #afterDelimiter(): boolean {
    if (this.#window.length < DASHES.length) return false;
    if (this.#window.subarray(0, DASHES.length).equals(DASHES)) {
      this.#drop(DASHES.length);
      this.#state = 'done';
      return true;
    }
    const end = this.#window.indexOf(CRLF);
    if (end === -1 && this.#window.length <= MAX_HEADER_BYTES) return false;
    // RFC 2046 allows only white space after a boundary. Another parser could read other text as a
    // longer boundary.
    if (end === -1 || !/^[ \t]*$/.test(this.#window.toString('latin1', 0, end)))
      throw new MultipartError('a boundary is followed by other text');
    // Keeps the line end, so that `#headers` finds CRLF CRLF also in a part without headers.
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
    const headers = this.#window.subarray(0, end);
    if (headers.includes(this.#delimiter)) throw new MultipartError('the headers of a part contain the boundary');
    const { name, isFile } = dispositionOf(headers.toString('utf8'));
    this.#drop(end + HEADER_END.length);
    this.#current = { name, isFile, valueStart: this.#windowStart };
    this.#value = name !== null && !isFile && this.#wanted.has(name) ? Buffer.alloc(0) : null;
    this.#state = 'content';
    return true;
  }

  /** @throws {MultipartError} if text follows the closing delimiter. Django reads parts there. */
  #afterEnd(): false {
    if (/[^\t\r\n ]/.test(this.#window.toString('latin1')))
      throw new MultipartError('it has text after the closing boundary');
    this.#drop(this.#window.length);
    return false;
  }

  /** Stores the first bytes of the window as part of the value. @throws {MultipartError} if the value is too long. */
  #storeValue(count: number): void {
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

/** The Content-Disposition of a part. */
export interface Disposition {
  /** null: the part has no name. */
  readonly name: string | null;
  /** Whether the part has a file name. */
  readonly isFile: boolean;
}

const headerName = /^[\w!#$%&'*+.^`|~-]+[\t ]*:/;
/** Matches what precedes the first parameter, such as `Content-Disposition: form-data`. */
const beforeParameters = /^[\w\t :/+.-]*/;
/**
 * Matches a semicolon, and a parameter: its name, and a quoted text or a token (RFC 2045 §5.1). Parsers disagree about
 * the end of any other value: for `boundary=a b`, Python's parser finds `a b`. It also treats more characters
 * as white space.
 */
const parameters =
  /;[\t ]*(?:([\w!#$%&'*+.^`|~-]+)[\t ]*=[\t ]*(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~-]+))[\t ]*)?/gsy;

/** Returns the parameters of a header; undefined: another parser could find other ones. */
function parametersOf(header: string): readonly (readonly [name: string, value: string])[] | undefined {
  const list = header.replace(beforeParameters, '');
  const matches = [...list.matchAll(parameters)];
  if (matches.map(([text]) => text).join('') !== list) return undefined;
  return matches
    .filter(([, name]) => name !== undefined)
    .map(([, name = '', quoted, token = '']) => [name.toLowerCase(), quoted ?? token]);
}

/** Returns whether a parameter has the given name, also with a suffix of RFC 2231: `name*`, `name*0`. */
const isNamed = (parameter: string, name: string) => parameter === name || parameter.startsWith(`${name}*`);

/**
 * Matches a quoted text in which some parsers find a parameter. cpp-httplib, which llama.cpp uses, ignores quote marks.
 * Other parsers end a text at a quote mark that follows a backslash.
 */
const hiddenName = /;\s*(?:file)?name\*?\d*\*?\s*=/i;
/**
 * Matches a name that some parsers change. Django removes white space around it, and others remove backslashes.
 */
const unclearName = /^\s|\s$|[\p{Cc}\\]/u;

/**
 * Reads the Content-Disposition of a part (RFC 7578 §4.2).
 * @param headers all headers of the part.
 * @throws {MultipartError} if another parser could find another name.
 */
export function dispositionOf(headers: string): Disposition {
  const lines = headers.replace(/^\r\n/, '').split('\r\n');
  if (lines.some((line) => /^[ \t]|[\r\n]/.test(line))) throw new MultipartError('a part has a header in two lines');
  // Werkzeug skips an empty line before the headers. Django removes control characters before a header.
  if (!lines.every((line) => headerName.test(line)))
    throw new MultipartError('a part has no headers, or an invalid one');
  const [disposition = '', second] = lines.filter((line) => /^content-disposition\s*:/i.test(line));
  if (second !== undefined) throw new MultipartError('a part has two Content-Disposition headers');
  const given = parametersOf(disposition);
  // Python's parser takes the quote mark after two backslashes for a part of the text. curl does not escape backslashes.
  if (given?.some(([, value]) => value.endsWith('\\')) ?? /\\"[\t ]*(?:;|$)/.test(disposition))
    throw new MultipartError('the name of a file or of a field ends with a backslash');
  if (given?.some(([, value]) => hiddenName.test(value)) === true)
    throw new MultipartError("the name of a file or of a field contains '; name=' or '; filename='");
  const names = given?.filter(([name]) => isNamed(name, 'name')) ?? [];
  if (names.length > 1) throw new MultipartError('a part has two names');
  const [key, name = null] = names[0] ?? ['name'];
  if (given === undefined || key !== 'name' || unclearName.test(name ?? ''))
    throw new MultipartError('a part has an unclear Content-Disposition');
  // RFC 7578 forbids `filename*` (RFC 8187) in forms, but some clients send it.
  const isFile = given.some(([parameter]) => parameter === 'filename' || parameter === 'filename*');
  return { name, isFile };
}
