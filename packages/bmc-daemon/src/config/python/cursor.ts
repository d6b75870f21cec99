/** A position in the tokens of a configuration file, and the faults of a text. */
import { CODE, tokenize, type Token } from './tokens.js';
import { KEYWORDS, NOT_RUN, ONLY_LITERALS } from './words.js';

/** A text that is not a value, with its line. */
export class LiteralFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}

/** Code that the daemon does not run. The user can write its result instead. */
export class CodeFault extends LiteralFault {}

/** Returns whether a token is this operator or bracket. */
export function isOperator(token: Token, text: string): boolean {
  return token.kind === 'operator' && token.text === text;
}

/** Returns a token for a message: in quotes, or described if it has no text. */
export function describe(token: Token): string {
  return token.kind === 'newline' ? 'the end of the line' : token.kind === 'end' ? token.text : `'${token.text}'`;
}

function faultOf({ line, text, value }: Token): LiteralFault {
  return value === CODE ? new CodeFault(line, text) : new LiteralFault(line, text);
}

/** The tokens of a text, read one by one. */
export class Cursor {
  protected index = 0;
  private readonly tokens: readonly Token[];
  /** Open brackets, for the message about an unclosed one. */
  protected readonly openBrackets: Token[] = [];

  constructor(text: string) {
    this.tokens = tokenize(text);
  }

  /**
   * Returns the current token, or a later or earlier one; beyond the ends, the last or first token.
   */
  protected peek(offset = 0): Token {
    const token = this.tokens[Math.max(0, Math.min(this.index + offset, this.tokens.length - 1))];
    if (token === undefined) throw new Error('bug: the token list is empty');
    return token;
  }

  /** Returns the current token and moves past it. @throws {LiteralFault} for a `fault` token. */
  protected next(): Token {
    const token = this.peek();
    this.index += 1;
    if (token.kind === 'fault') throw faultOf(token);
    return token;
  }

  /** Moves past the current token if it is this operator. @returns whether it is. */
  protected take(text: string): boolean {
    if (!isOperator(this.peek(), text)) return false;
    this.index += 1;
    return true;
  }

  protected startsAssignment(): boolean {
    const token = this.peek();
    return token.kind === 'name' && token.column === 0 && isOperator(this.peek(1), '=');
  }

  /**
   * Returns the error for a token that cannot be here: a {@link CodeFault} if it continues an
   * expression, or is a `fault` token for code.
   */
  protected unexpected(token: Token): LiteralFault {
    if (token.kind === 'fault') return faultOf(token);
    const previous = this.peek(-1);
    if (
      token.kind === 'operator' &&
      previous.kind === 'name' &&
      (token.text === '(' || token.text === '.' || token.text === '[')
    )
      return new CodeFault(token.line, `'${previous.text}${token.text}…' is Python code, ${NOT_RUN}`);
    if (token.kind === 'operator' && !'()[]{}:,;='.includes(token.text))
      return new CodeFault(token.line, `${describe(token)} would have to be calculated; ${ONLY_LITERALS}`);
    if (token.kind === 'name' && KEYWORDS.has(token.text))
      return new LiteralFault(token.line, `'${token.text}' is Python code; ${ONLY_LITERALS}`);
    return new LiteralFault(token.line, `${describe(token)} was not expected here`);
  }
}
