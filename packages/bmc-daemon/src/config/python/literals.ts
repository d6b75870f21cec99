/**
 * Reads a file of Python-style assignments, `NAME = value`, the form of sushy-emulator's
 * configuration, and runs no code. It supports strings, numbers, None, booleans, lists, tuples,
 * sets, mappings, names of earlier assignments, imports, and the functions of `paths.ts`.
 * All other Python is a fault with its line, except calls and calculations in the value of a name that no
 * setting uses.
 */
import { CodeFault, isOperator, LiteralFault, describe } from './cursor.js';
import { ExpressionReader, type SourceContext } from './expressions.js';
import type { Token } from './tokens.js';
import { KEYWORDS, ONLY_LITERALS } from './words.js';
import type { PythonValue } from './values.js';

/** A line `NAME = value`. */
export interface Assignment {
  readonly name: string;
  /** Line of the name, from 1. */
  readonly line: number;
  readonly value: PythonValue;
}

/** One fault of a file. `message` is lower case and follows `file:line: `. */
interface SourceFault {
  readonly line: number;
  readonly message: string;
  /** Name of the assignment, if its value requires code. */
  readonly settingToRewrite?: string;
}

/** The contents of a file. */
interface ParsedAssignments {
  /** In the order of the file. A name may occur twice. */
  readonly assignments: readonly Assignment[];
  /** All faults. Reading continues after each. */
  readonly faults: readonly SourceFault[];
  /** Names that other values refer to. */
  readonly used: ReadonlySet<string>;
}

/** Reads assignments and imports. */
class FileReader extends ExpressionReader {
  /** Name of the current assignment. */
  private target: string | undefined;

  /** Reads the whole file. */
  file(): ParsedAssignments {
    const assignments: Assignment[] = [];
    const faults: SourceFault[] = [];
    while (this.peek().kind !== 'end') {
      try {
        const assignment = this.statement();
        if (assignment !== undefined) assignments.push(assignment);
      } catch (error) {
        if (!(error instanceof LiteralFault)) throw error;
        const target = error instanceof CodeFault ? this.target : undefined;
        faults.push({
          line: error.line,
          message: error.message,
          ...(target === undefined ? {} : { settingToRewrite: target }),
        });
        this.recover();
      }
    }
    return { assignments, faults, used: this.used };
  }

  /**
   * Moves to the next line. After an unclosed bracket, moves to the next line that looks like an
   * assignment.
   */
  private recover(): void {
    this.openBrackets.length = 0;
    for (;;) {
      const token = this.peek();
      if (token.kind === 'end' || token.kind === 'newline') return;
      if (this.startsAssignment()) return;
      this.index += 1;
    }
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
    // Ignores a string that is not assigned: in Python files it serves as a long comment.
    if (first.kind === 'string') {
      this.value(0);
      this.endStatement();
      return undefined;
    }
    this.target = undefined;
    if (first.kind === 'name' && (first.text === 'import' || first.text === 'from')) {
      this.importStatement();
      return undefined;
    }
    const target = this.next();
    if (target.kind !== 'name')
      throw new LiteralFault(target.line, `an assignment 'NAME = value' was expected, not ${describe(target)}`);
    if (KEYWORDS.has(target.text))
      throw new LiteralFault(target.line, `'${target.text}' is Python code; ${ONLY_LITERALS}`);
    const after = this.peek();
    if (isOperator(after, ':'))
      throw new LiteralFault(after.line, `write '${target.text} = value', without an annotation`);
    if (!this.take('='))
      throw new LiteralFault(
        target.line,
        `'=' and a value were expected after ${describe(target)}, not ${describe(after)}`,
      );
    if (this.context.isSetting(target.text)) return this.assignment(target);
    try {
      return this.assignment(target);
    } catch (error) {
      if (!(error instanceof CodeFault)) throw error;
      // If the name is not a setting, code in its value matters only if a setting uses the name.
      this.variables.set(target.text, error);
      this.recover();
      return undefined;
    }
  }

  private assignment(target: Token): Assignment {
    this.target = target.text;
    const value = this.valueOrTuple();
    if (isOperator(this.peek(), '=')) throw new LiteralFault(this.peek().line, 'a line assigns to one name only');
    this.endStatement();
    this.variables.set(target.text, value);
    return { name: target.text, line: target.line, value };
  }

  /** Reads an import, such as `import os.path as p` or `from os import path as p, environ`. */
  private importStatement(): void {
    const keyword = this.next();
    const from = keyword.text === 'from' ? `${this.dottedName()}.` : '';
    if (from !== '') this.expectWord('import', keyword.line);
    const grouped = from !== '' && this.take('(');
    do {
      const qualified = `${from}${this.dottedName()}`;
      const alias = this.takeWord('as') ? this.next().text : undefined;
      // `import os.path` binds `os`.
      const local = from === '' ? (qualified.split('.')[0] ?? qualified) : qualified.slice(from.length);
      this.imports.set(alias ?? local, alias === undefined && from === '' ? local : qualified);
    } while (this.take(',') && !isOperator(this.peek(), ')'));
    if (grouped && !this.take(')')) throw this.unexpected(this.peek());
    this.endStatement();
  }

  private dottedName(): string {
    const parts = [];
    do {
      const part = this.next();
      if (part.kind !== 'name') throw this.unexpected(part);
      parts.push(part.text);
    } while (this.take('.'));
    return parts.join('.');
  }

  private takeWord(word: string): boolean {
    const { kind, text } = this.peek();
    if (kind !== 'name' || text !== word) return false;
    this.index += 1;
    return true;
  }

  private expectWord(word: string, line: number): void {
    if (!this.takeWord(word)) throw new LiteralFault(line, `'${word}' was expected, not ${describe(this.peek())}`);
  }

  private endStatement(): void {
    const token = this.peek();
    // After an unclosed bracket the tokenizer sees no line ends. A name in the first column shows
    // the start of a line.
    if (token.kind === 'name' && token.column === 0) return;
    if (token.kind !== 'newline' && token.kind !== 'end' && !isOperator(token, ';')) throw this.unexpected(token);
  }
}

/** Returns the assignments of a configuration file and all of its faults. Never throws. */
export function parseAssignments(text: string, context?: SourceContext): ParsedAssignments {
  return new FileReader(text, context).file();
}

/**
 * Reads one literal: the text of a flag or of an environment variable.
 * @throws {Error} with a lower-case sentence for any other text.
 */
export function parseLiteral(text: string): PythonValue {
  return new ExpressionReader(text).readSingle();
}
