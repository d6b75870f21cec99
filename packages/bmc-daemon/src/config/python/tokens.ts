/**
 * Splits the text of a configuration file into Python's tokens, as far as literal values need them. Nothing is evaluated.
 * @see https://docs.python.org/3/reference/lexical_analysis.html
 */

/** One token. `fault` describes an error in the text, so that reading can continue after it. */
export interface Token {
  readonly kind: 'name' | 'integer' | 'float' | 'string' | 'operator' | 'newline' | 'end' | 'fault';
  /** As written; for `fault` the message. */
  readonly text: string;
  /** Line of its start, counted from 1. */
  readonly line: number;
  /** Counted from 0. */
  readonly column: number;
  /** Decoded value of a string or number; of a fault {@link CODE} where the text is an expression. */
  readonly value: string | number;
}

/** Marks the fault of valid Python that the daemon does not run. */
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

const CODE_ESCAPE = /x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})/y;

/** The reason why a string could not be decoded; becomes a `fault` token. */
class StringFault extends Error {
  constructor(
    message: string,
    readonly mark: typeof CODE | '' = '',
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
    const next = body.charAt(at + 1);
    const simple = SIMPLE_ESCAPES[next];
    const code = matchAt(CODE_ESCAPE, body, at + 1);
    if (simple !== undefined) {
      decoded += simple;
      from = at + 2;
    } else if (code !== null) {
      const [whole, hex2, hex4, hex8, octal] = code;
      const point = octal === undefined ? parseInt(hex2 ?? hex4 ?? hex8 ?? '', 16) : parseInt(octal, 8);
      if (point > 0x10ffff) throw new StringFault(`\\${whole} is beyond the last Unicode character`);
      decoded += String.fromCodePoint(point);
      from = at + 1 + whole.length;
    } else if (next === 'x' || next === 'u' || next === 'U') {
      throw new StringFault(`\\${next} needs ${{ x: 2, u: 4, U: 8 }[next]} hexadecimal digits after it`);
    } else if (next === 'N') {
      throw new StringFault('\\N{…} is not read: write the character itself');
    } else {
      // Python keeps the backslash of an unknown escape.
      decoded += `\\${next}`;
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
    throw new StringFault(`a string with the prefix '${prefix}' is an expression, which is not read`, CODE);
  if (flags.includes('b')) throw new StringFault(`a bytes literal is not a setting: leave the prefix '${prefix}' out`);
  if (!['', 'r', 'u'].includes(flags)) throw new StringFault(`'${prefix}' is not a prefix of a string`);
  return flags === 'r' ? body : decodeEscapes(body);
}

/**
 * Returns the tokens of a text; the last one is `end`. Comments, newlines inside brackets and
 * newlines after a backslash are omitted. Never throws: unreadable text becomes a `fault` token.
 */
export function tokenize(source: string): Token[] {
  // Python reads a byte order mark, CR LF and CR in the same way.
  const text = source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const tokens: Token[] = [];
  let index = 0;
  let line = 1;
  let lineStart = 0;
  let depth = 0;

  const push = (kind: Token['kind'], length: number, value: string | number = '', message?: string) => {
    const raw = text.slice(index, index + length);
    tokens.push({ kind, text: message ?? raw, line, column: index - lineStart, value });
    index += length;
    // Only strings can span lines.
    for (let at = raw.indexOf('\n'); at !== -1; at = raw.indexOf('\n', at + 1)) {
      line += 1;
      lineStart = index - raw.length + at + 1;
    }
  };
  const endOfLine = (from: number) => {
    const end = text.indexOf('\n', from);
    return end === -1 ? text.length : end;
  };

  while (index < text.length) {
    const character = text.charAt(index);
    if (character === '\n') {
      // As in Python, lines do not end inside brackets. The parser finds a missing closing bracket.
      if (depth === 0) tokens.push({ kind: 'newline', text: '\n', line, column: index - lineStart, value: '' });
      index += 1;
      line += 1;
      lineStart = index;
      continue;
    }
    if (character === ' ' || character === '\t' || character === '\f') {
      index += 1;
      continue;
    }
    if (character === '#') {
      index = endOfLine(index);
      continue;
    }
    if (character === '\\' && text.charAt(index + 1) === '\n') {
      index += 2;
      line += 1;
      lineStart = index;
      continue;
    }

    const string = matchAt(STRING_START, text, index);
    if (string !== null) {
      const [opening, prefix = '', quotes = ''] = string;
      const end = findStringEnd(text, index + opening.length, quotes);
      if (end === -1) {
        const length = (quotes.length === 1 ? endOfLine(index) : text.length) - index;
        push('fault', length, '', `the string that begins here is not closed with ${quotes}`);
        continue;
      }
      const length = end + quotes.length - index;
      try {
        push('string', length, decodeString(prefix, text.slice(index + opening.length, end)));
      } catch (error) {
        if (!(error instanceof StringFault)) throw error;
        push('fault', length, error.mark, error.message);
      }
      continue;
    }

    const name = matchAt(NAME, text, index);
    if (name !== null) {
      push('name', name[0].length);
      continue;
    }

    const float = matchAt(FLOAT, text, index);
    const number = float ?? matchAt(INTEGER, text, index);
    if (number !== null) {
      const written = number[0];
      const rest = matchAt(/[\p{L}\p{N}_]+/uy, text, index + written.length)?.[0] ?? '';
      const length = written.length + rest.length;
      if (rest !== '') push('fault', length, '', `'${written}${rest}' is not a number`);
      else if (float !== null) push('float', length, Number(written.replaceAll('_', '')));
      else if (/^0[0-9_]*[1-9]/.test(written))
        push(
          'fault',
          length,
          '',
          `'${written}' begins with a zero: write ${Number(written.replaceAll('_', ''))}, or 0o… for octal`,
        );
      else push('integer', length, Number(written.replaceAll('_', '')));
      continue;
    }

    const operator = matchAt(OPERATOR, text, index);
    if (operator !== null) {
      if ('([{'.includes(operator[0])) depth += 1;
      if (')]}'.includes(operator[0])) depth = Math.max(0, depth - 1);
      push('operator', operator[0].length);
      continue;
    }
    const odd = String.fromCodePoint(text.codePointAt(index) ?? 0);
    push('fault', odd.length, '', `'${odd}' has no place here`);
  }
  tokens.push({ kind: 'end', text: 'the end of the file', line, column: index - lineStart, value: '' });
  return tokens;
}
