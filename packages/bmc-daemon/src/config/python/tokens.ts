/**
 * Splits the text of a configuration file into Python's tokens, as far as literal values need them.
 * Nothing is evaluated.
 * @see https://docs.python.org/3/reference/lexical_analysis.html
 */

/** One token. A token of the kind `fault` describes an error in the text; reading continues after it. */
export interface Token {
  readonly kind: 'name' | 'integer' | 'float' | 'string' | 'operator' | 'newline' | 'end' | 'fault';
  /** As written; for `fault` the message; for `end` words for messages. */
  readonly text: string;
  /** Line in which the token begins, counted from 1. */
  readonly line: number;
  /** Counted from 0. */
  readonly column: number;
  /**
   * Decoded value of a string or number. For a fault: {@link CODE} if the source text is a Python
   * expression, otherwise ''. For other tokens: ''.
   */
  readonly value: string | number;
}

/** The `value` of a fault token for source text that is valid Python, but code that the daemon does not run. */
export const CODE = 'code';

const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const DIGITS = '[0-9](?:_?[0-9])*';
const FLOAT = new RegExp(
  `(?:(?:${DIGITS})?\\.${DIGITS}|${DIGITS}\\.)(?:[eE][+-]?${DIGITS})?|${DIGITS}[eE][+-]?${DIGITS}`,
  'y',
);
const INTEGER = new RegExp(`0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|${DIGITS}`, 'y');
const STRING_START = /([A-Za-z]{0,2})("""|'''|"|')/y;
const OPERATOR = /\*\*|[-+*/%@&|^!<>]=?|[=:,;.()[\]{}~]/y;

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

const NUMERIC_ESCAPE = /x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})/y;

/** The reason why a string could not be decoded. A `fault` token contains it. */
class StringFault extends Error {
  constructor(
    message: string,
    readonly value: typeof CODE | '' = '',
  ) {
    super(message);
  }
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

function decodeEscapes(body: string): string {
  let decoded = '';
  let from = 0;
  for (let at = body.indexOf('\\'); at !== -1; at = body.indexOf('\\', from)) {
    decoded += body.slice(from, at);
    const escaped = body.charAt(at + 1);
    const simple = SIMPLE_ESCAPES[escaped];
    const code = matchAt(NUMERIC_ESCAPE, body, at + 1);
    if (simple !== undefined) {
      decoded += simple;
      from = at + 2;
    } else if (code !== null) {
      const [whole, hex2, hex4, hex8, octal] = code;
      const point = octal === undefined ? parseInt(hex2 ?? hex4 ?? hex8 ?? '', 16) : parseInt(octal, 8);
      if (point > 0x10ffff) throw new StringFault(`\\${whole} is beyond the last Unicode character`);
      decoded += String.fromCodePoint(point);
      from = at + 1 + whole.length;
    } else if (escaped === 'x' || escaped === 'u' || escaped === 'U') {
      throw new StringFault(`\\${escaped} needs ${{ x: 2, u: 4, U: 8 }[escaped]} hexadecimal digits after it`);
    } else if (escaped === 'N') {
      throw new StringFault('\\N{…} is not supported: write the character itself');
    } else {
      // Python keeps the backslash of an unknown escape.
      decoded += `\\${escaped}`;
      from = at + 2;
    }
  }
  return decoded + body.slice(from);
}

/** Returns the index of the closing quotes; -1 for a string without an end. */
function findStringEnd(text: string, from: number, quotes: string): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '\\') at += 1;
    else if (character === '\n' && quotes.length === 1) return -1;
    else if (text.startsWith(quotes, at)) return at;
  }
  return -1;
}

function decodeString(prefix: string, body: string): string {
  const flags = prefix.toLowerCase();
  if (flags.includes('f') || flags.includes('t'))
    throw new StringFault(`a string with the prefix '${prefix}' is an expression, which is not supported`, CODE);
  if (flags.includes('b'))
    throw new StringFault(`a setting cannot have bytes as its value: leave the prefix '${prefix}' out`);
  if (!['', 'r', 'u'].includes(flags)) throw new StringFault(`'${prefix}' is not a prefix of a string`);
  return flags === 'r' ? body : decodeEscapes(body);
}

/**
 * Returns the tokens of a text; the last one is `end`. Comments, newlines inside brackets and
 * newlines after a backslash are omitted. Never throws: unreadable text becomes a `fault` token.
 */
export function tokenize(source: string): Token[] {
  // As Python does: skips a byte order mark; CR LF and CR end a line.
  return new Tokenizer(source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')).readAll();
}

/** Reads the tokens of a text from its start to its end. */
class Tokenizer {
  private readonly text: string;
  private readonly tokens: Token[] = [];
  private index = 0;
  private line = 1;
  private lineStart = 0;
  /** Number of open brackets. */
  private depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  readAll(): Token[] {
    while (this.index < this.text.length) {
      if (this.readBlank() || this.readString() || this.readWord() || this.readNumber() || this.readOperator())
        continue;
      const odd = String.fromCodePoint(this.text.codePointAt(this.index) ?? 0);
      this.fault(odd.length, `'${odd}' is not valid here`);
    }
    this.add('end', 'the end of the file');
    return this.tokens;
  }

  /** Reads white space, a comment or a newline. @returns false if there is none. */
  private readBlank(): boolean {
    const character = this.text.charAt(this.index);
    if (character === '\n') {
      // As in Python, lines do not end inside brackets. The parser finds a missing closing bracket.
      if (this.depth === 0) this.add('newline', '\n');
      this.startLine(this.index + 1);
    } else if (character === ' ' || character === '\t' || character === '\f') this.index += 1;
    else if (character === '#') this.index = this.endOfLine();
    else if (character === '\\' && this.text.charAt(this.index + 1) === '\n') this.startLine(this.index + 2);
    else return false;
    return true;
  }

  /** Reads a string, or adds a fault for it. @returns false if there is none. */
  private readString(): boolean {
    const match = matchAt(STRING_START, this.text, this.index);
    if (match === null) return false;
    const [opening, prefix = '', quotes = ''] = match;
    const start = this.index + opening.length;
    const end = findStringEnd(this.text, start, quotes);
    if (end === -1) {
      const length = (quotes.length === 1 ? this.endOfLine() : this.text.length) - this.index;
      this.fault(length, `the string that begins here is not closed with ${quotes}`);
      return true;
    }
    const length = end + quotes.length - this.index;
    try {
      this.take('string', length, decodeString(prefix, this.text.slice(start, end)));
    } catch (error) {
      if (!(error instanceof StringFault)) throw error;
      this.fault(length, error.message, error.value);
    }
    return true;
  }

  /** Reads a name or keyword. @returns false if there is none. */
  private readWord(): boolean {
    const match = matchAt(NAME, this.text, this.index);
    if (match !== null) this.take('name', match[0].length);
    return match !== null;
  }

  /** Reads a number, or adds a fault for it. @returns false if there is none. */
  private readNumber(): boolean {
    const float = matchAt(FLOAT, this.text, this.index);
    const match = float ?? matchAt(INTEGER, this.text, this.index);
    if (match === null) return false;
    const [written] = match;
    const suffix = matchAt(/[\p{L}\p{N}_]+/uy, this.text, this.index + written.length)?.[0] ?? '';
    const value = Number(written.replaceAll('_', ''));
    if (suffix !== '') this.fault(written.length + suffix.length, `'${written}${suffix}' is not a number`);
    else if (float === null && /^0[0-9_]*[1-9]/.test(written))
      this.fault(written.length, `'${written}' begins with a zero: write ${value}, or 0o… for octal`);
    else this.take(float === null ? 'integer' : 'float', written.length, value);
    return true;
  }

  /** Reads an operator or a bracket. @returns false if there is none. */
  private readOperator(): boolean {
    const match = matchAt(OPERATOR, this.text, this.index);
    if (match === null) return false;
    const [operator] = match;
    if ('([{'.includes(operator)) this.depth += 1;
    if (')]}'.includes(operator)) this.depth = Math.max(0, this.depth - 1);
    this.take('operator', operator.length);
    return true;
  }

  /** Adds a token at the current place, without moving forward. */
  private add(kind: Token['kind'], text: string, value: string | number = ''): void {
    this.tokens.push({ kind, text, line: this.line, column: this.index - this.lineStart, value });
  }

  /** Adds a token and moves past its text. */
  private take(kind: Token['kind'], length: number, value: string | number = ''): void {
    this.add(kind, this.text.slice(this.index, this.index + length), value);
    this.skip(length);
  }

  private fault(length: number, message: string, value: StringFault['value'] = ''): void {
    this.add('fault', message, value);
    this.skip(length);
  }

  /** Moves forward. Only strings can span lines. */
  private skip(length: number): void {
    const start = this.index;
    const passed = this.text.slice(start, start + length);
    for (let at = passed.indexOf('\n'); at !== -1; at = passed.indexOf('\n', at + 1)) this.startLine(start + at + 1);
    this.index = start + length;
  }

  private startLine(at: number): void {
    this.index = at;
    this.line += 1;
    this.lineStart = at;
  }

  private endOfLine(): number {
    const end = this.text.indexOf('\n', this.index);
    return end === -1 ? this.text.length : end;
  }
}
