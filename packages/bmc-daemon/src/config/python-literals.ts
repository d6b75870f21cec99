/**
 * Reads a file of Python-style assignments, `NAME = literal`, without running anything: the form in which sushy-emulator's
 * configuration is written. Strings, numbers, None, booleans, lists, tuples, sets and mappings are read; every other piece of
 * Python (calls, names, operators, imports) is a fault with its line.
 */
import { tokenize, type Token } from './python-tokens.js';
import { KEYWORDS, MEANT, ONLY_LITERALS } from './python-words.js';
import type { DictEntry, PythonValue } from './python-values.js';

export interface Assignment {
  readonly name: string;
  readonly line: number;
  readonly value: PythonValue;
}

/** One thing that is wrong with a file. `message` is lower case and stands behind `file:line: `. */
export interface SourceFault {
  readonly line: number;
  readonly message: string;
}

export interface ParsedAssignments {
  /** In the order of the file; a name may come twice. */
  readonly assignments: readonly Assignment[];
  /** Every fault: reading goes on after one. */
  readonly faults: readonly SourceFault[];
}

/** Brackets deeper than this are refused rather than read by recursion. */
const MAX_DEPTH = 50;

class LiteralFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}

function isOperator(token: Token, text: string): boolean {
  return token.kind === 'operator' && token.text === text;
}

function name(token: Token): string {
  return token.kind === 'newline' ? 'the end of the line' : token.kind === 'end' ? token.text : `'${token.text}'`;
}

class Parser {
  private index = 0;
  private readonly tokens: readonly Token[];
  /** Brackets that are open, for the message about one that is never closed. */
  private readonly open: Token[] = [];

  constructor(text: string) {
    this.tokens = tokenize(text);
  }

  private peek(offset = 0): Token {
    const token = this.tokens[Math.max(0, Math.min(this.index + offset, this.tokens.length - 1))];
    if (token === undefined) throw new Error('a token list ends with its end token');
    return token;
  }

  private next(): Token {
    const token = this.peek();
    this.index += 1;
    if (token.kind === 'fault') throw new LiteralFault(token.line, token.text);
    return token;
  }

  private take(text: string): boolean {
    if (!isOperator(this.peek(), text)) return false;
    this.index += 1;
    return true;
  }

  /** Everything in the file. */
  file(): ParsedAssignments {
    const assignments: Assignment[] = [];
    const faults: SourceFault[] = [];
    while (this.peek().kind !== 'end') {
      try {
        const assignment = this.statement();
        if (assignment !== undefined) assignments.push(assignment);
      } catch (error) {
        if (!(error instanceof LiteralFault)) throw error;
        faults.push({ line: error.line, message: error.message });
        this.recover();
      }
    }
    return { assignments, faults };
  }

  /** One value and nothing else: an environment variable. */
  only(): PythonValue {
    while (this.peek().kind === 'newline') this.index += 1;
    const value = this.valueOrTuple();
    while (this.peek().kind === 'newline') this.index += 1;
    if (this.peek().kind !== 'end') throw this.unexpected(this.peek());
    return value;
  }

  /** Goes on at the next line, or where an assignment begins although a bracket is still open. */
  private recover(): void {
    this.open.length = 0;
    for (;;) {
      const token = this.peek();
      if (token.kind === 'end' || token.kind === 'newline') return;
      if (this.startsAssignment()) return;
      this.index += 1;
    }
  }

  private startsAssignment(): boolean {
    const token = this.peek();
    return token.kind === 'name' && token.column === 0 && isOperator(this.peek(1), '=');
  }

  private statement(): Assignment | undefined {
    const first = this.peek();
    if (first.kind === 'newline' || isOperator(first, ';')) {
      this.index += 1;
      return undefined;
    }
    const previous = this.peek(-1);
    const startsLine = this.index === 0 || previous.kind === 'newline';
    if (startsLine && first.column > 0)
      throw new LiteralFault(first.line, 'the line is indented; an assignment begins at its first column');
    // A string that stands alone is how Python files carry long comments.
    if (first.kind === 'string') {
      this.value(0);
      this.endStatement();
      return undefined;
    }
    const target = this.next();
    if (target.kind !== 'name')
      throw new LiteralFault(target.line, `an assignment 'NAME = value' was expected, not ${name(target)}`);
    if (KEYWORDS.has(target.text))
      throw new LiteralFault(target.line, `'${target.text}' is Python code; ${ONLY_LITERALS}`);
    const after = this.peek();
    if (isOperator(after, ':'))
      throw new LiteralFault(after.line, `write '${target.text} = value', without an annotation`);
    if (!this.take('='))
      throw new LiteralFault(target.line, `'=' and a value were expected after ${name(target)}, not ${name(after)}`);
    const value = this.valueOrTuple();
    if (isOperator(this.peek(), '=')) throw new LiteralFault(this.peek().line, 'a line assigns to one name only');
    this.endStatement();
    return { name: target.text, line: target.line, value };
  }

  private endStatement(): void {
    const token = this.peek();
    // After a bracket that was never closed the tokenizer sees no line ends; a name in the first column shows where one was.
    if (token.kind === 'name' && token.column === 0) return;
    if (token.kind !== 'newline' && token.kind !== 'end' && !isOperator(token, ';')) throw this.unexpected(token);
  }

  private unexpected(token: Token): LiteralFault {
    if (token.kind === 'fault') return new LiteralFault(token.line, token.text);
    const before = this.peek(-1);
    if (
      token.kind === 'operator' &&
      before.kind === 'name' &&
      (token.text === '(' || token.text === '.' || token.text === '[')
    )
      return new LiteralFault(token.line, `'${before.text}${token.text}…' is Python code; ${ONLY_LITERALS}`);
    if (token.kind === 'operator' && !'()[]{}:,;='.includes(token.text))
      return new LiteralFault(token.line, `${name(token)} would have to be calculated; ${ONLY_LITERALS}`);
    if (token.kind === 'name' && KEYWORDS.has(token.text))
      return new LiteralFault(token.line, `'${token.text}' is Python code; ${ONLY_LITERALS}`);
    return new LiteralFault(token.line, `${name(token)} was not expected here`);
  }

  /** `1, 2` is a tuple without its parentheses. */
  private valueOrTuple(): PythonValue {
    const first = this.value(0);
    if (!isOperator(this.peek(), ',')) return first;
    const items = [first];
    while (this.take(',')) {
      const token = this.peek();
      if (token.kind === 'newline' || token.kind === 'end' || isOperator(token, ';')) break;
      items.push(this.value(0));
    }
    return { kind: 'tuple', line: first.line, items };
  }

  private value(depth: number): PythonValue {
    const bracket = this.open.at(-1);
    if (bracket !== undefined && (this.peek().kind === 'end' || this.startsAssignment()))
      throw new LiteralFault(bracket.line, `the '${bracket.text}' that is opened here is never closed`);
    const token = this.next();
    if (depth > MAX_DEPTH) throw new LiteralFault(token.line, `brackets are nested more than ${MAX_DEPTH} deep`);
    switch (token.kind) {
      case 'string':
        return { kind: 'string', line: token.line, value: this.concatenated(token) };
      case 'integer':
      case 'float':
        return { kind: token.kind, line: token.line, value: Number(token.value) };
      case 'name':
        return this.named(token);
      case 'operator':
        return this.compound(token, depth);
      case 'newline':
      case 'end':
        throw new LiteralFault(token.line, `a value was expected, not ${name(token)}`);
      default:
        throw this.unexpected(token);
    }
  }

  /** Strings that stand side by side are one. */
  private concatenated(first: Token): string {
    let value = String(first.value);
    while (this.peek().kind === 'string') value += String(this.next().value);
    return value;
  }

  private named(token: Token): PythonValue {
    const { text, line } = token;
    if (text === 'None') return { kind: 'none', line };
    if (text === 'True' || text === 'False') return { kind: 'boolean', line, value: text === 'True' };
    const after = this.peek();
    if (after.kind === 'operator' && ['(', '.', '['].includes(after.text)) throw this.unexpected(after);
    if (KEYWORDS.has(text)) throw new LiteralFault(line, `'${text}' is Python code; ${ONLY_LITERALS}`);
    const meant = MEANT.get(text);
    if (meant !== undefined) throw new LiteralFault(line, `'${text}' is a name: write ${meant}`);
    throw new LiteralFault(line, `'${text}' is a name: put text in quotes; ${ONLY_LITERALS}`);
  }

  private compound(token: Token, depth: number): PythonValue {
    switch (token.text) {
      case '-':
      case '+': {
        const operand = this.value(depth + 1);
        if (operand.kind !== 'integer' && operand.kind !== 'float')
          throw new LiteralFault(token.line, `a number was expected after '${token.text}'`);
        return { ...operand, line: token.line, value: token.text === '-' ? -operand.value : operand.value };
      }
      case '[':
        return { kind: 'list', line: token.line, items: this.items(token, ']', depth).items };
      case '(': {
        const { items, commas } = this.items(token, ')', depth);
        const [only] = items;
        // Parentheses without a comma only group.
        if (only !== undefined && commas === 0) return only;
        return { kind: 'tuple', line: token.line, items };
      }
      case '{':
        return this.braces(token, depth);
      default:
        throw this.unexpected(token);
    }
  }

  private items(opening: Token, closing: string, depth: number): { items: PythonValue[]; commas: number } {
    const items: PythonValue[] = [];
    let commas = 0;
    this.open.push(opening);
    while (!this.take(closing)) {
      items.push(this.value(depth + 1));
      if (this.take(',')) commas += 1;
      else this.expectClosing(opening, closing);
    }
    this.open.pop();
    return { items, commas };
  }

  private expectClosing(opening: Token, closing: string): void {
    const token = this.peek();
    if (isOperator(token, closing)) return;
    if (token.kind === 'end' || this.startsAssignment())
      throw new LiteralFault(opening.line, `the '${opening.text}' that is opened here is never closed`);
    if (token.kind === 'operator' && !')]},:'.includes(token.text)) throw this.unexpected(token);
    if (token.kind === 'fault') throw this.unexpected(token);
    throw new LiteralFault(token.line, `',' or '${closing}' was expected, not ${name(token)}`);
  }

  private braces(opening: Token, depth: number): PythonValue {
    const entries: DictEntry[] = [];
    const items: PythonValue[] = [];
    this.open.push(opening);
    while (!this.take('}')) {
      const key = this.value(depth + 1);
      if (items.length === 0 && this.take(':')) {
        if (key.kind === 'dict' || key.kind === 'list' || key.kind === 'set')
          throw new LiteralFault(key.line, 'a list, set or mapping can not be the key of a mapping');
        entries.push({ key, value: this.value(depth + 1) });
      } else if (entries.length === 0) {
        items.push(key);
      } else {
        throw new LiteralFault(this.peek().line, `':' and a value were expected, not ${name(this.peek())}`);
      }
      if (!this.take(',')) this.expectClosing(opening, '}');
    }
    this.open.pop();
    if (items.length > 0) return { kind: 'set', line: opening.line, items };
    return { kind: 'dict', line: opening.line, entries };
  }
}

/** The assignments of a configuration file and everything that is wrong with it. Never throws. */
export function parseAssignments(text: string): ParsedAssignments {
  return new Parser(text).file();
}

/**
 * One literal, as an environment variable carries it.
 * @throws {Error} with a lower-case sentence when the text is anything else.
 */
export function parseLiteral(text: string): PythonValue {
  return new Parser(text).only();
}
