/**
 * Reads values of a configuration file: literals, names of earlier assignments, and the functions
 * of `paths.ts`.
 */
import { CodeFault, Cursor, isOperator, LiteralFault, describe } from './cursor.js';
import {
  attributeOf,
  builtIns,
  callFunction,
  callMethod,
  combine,
  PathFault,
  type PathContext,
  variableOf,
} from './paths.js';
import type { Token } from './tokens.js';
import type { DictEntry, PythonValue } from './values.js';
import { KEYWORDS, PYTHON_SPELLINGS, NOT_RUN, ONLY_LITERALS } from './words.js';

/** Names and folders that a file may refer to. */
export interface SourceContext extends PathContext {
  /**
   * Returns whether a name is a setting. A {@link CodeFault} in the value of another name matters only if a
   * setting uses the name.
   */
  readonly isSetting: (name: string) => boolean;
}

/** Maximum depth of brackets and signs, which limits recursion. */
const MAX_DEPTH = 50;

/** A module, a class or a function that an expression names, by its qualified name. */
interface Reference {
  readonly qualified: string;
}

const emptyContext: SourceContext = { environment: {}, workingDirectory: '/', isSetting: () => true };

/** Reads the values in the text of a file, a flag or a variable. */
export class ExpressionReader extends Cursor {
  /** Imported names: the local name and its qualified name. */
  protected readonly imports = new Map<string, string>();
  /** Values of earlier assignments. A fault means that the value is unknown. */
  protected readonly variables = new Map<string, PythonValue | LiteralFault>();
  protected readonly used = new Set<string>();

  constructor(
    text: string,
    protected readonly context: SourceContext = emptyContext,
  ) {
    super(text);
  }

  /**
   * Reads exactly one value: the text of a flag or of an environment variable.
   * @throws {LiteralFault} for any other text.
   */
  readSingle(): PythonValue {
    while (this.peek().kind === 'newline') this.index += 1;
    const value = this.valueOrTuple();
    while (this.peek().kind === 'newline') this.index += 1;
    if (this.peek().kind !== 'end') throw this.unexpected(this.peek());
    return value;
  }

  /** Reads a value or a tuple without parentheses, `1, 2`. */
  protected valueOrTuple(): PythonValue {
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

  /** Reads a value, or several that `+` or `/` combine. */
  protected value(depth: number): PythonValue {
    let left = this.operand(depth);
    for (;;) {
      const operator = this.peek();
      if (!isOperator(operator, '+') && !isOperator(operator, '/')) return left;
      this.index += 1;
      const right = this.operand(depth);
      const combined = combine(isOperator(operator, '+') ? '+' : '/', left, right);
      if (combined === undefined) throw this.unexpected(operator);
      left = combined;
    }
  }

  private operand(depth: number): PythonValue {
    const bracket = this.openBrackets.at(-1);
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
        return this.named(token, depth);
      case 'operator':
        return this.compound(token, depth);
      case 'newline':
      case 'end':
        throw new LiteralFault(token.line, `a value was expected, not ${describe(token)}`);
      default:
        throw this.unexpected(token);
    }
  }

  /** Reads adjacent strings as one string. */
  private concatenated(first: Token): string {
    let value = String(first.value);
    while (this.peek().kind === 'string') value += String(this.next().value);
    return value;
  }

  /** Reads a value that begins with a name: a constant, a variable, or a call. */
  private named(token: Token, depth: number): PythonValue {
    const { text, line } = token;
    if (text === 'None') return { kind: 'none', line };
    if (text === 'True' || text === 'False') return { kind: 'boolean', line, value: text === 'True' };
    let subject = this.lookUp(token);
    for (;;) {
      if (this.take('.')) subject = this.member(subject, this.next(), depth);
      else if ('qualified' in subject && this.take('(')) subject = this.call(subject, this.peek(-1), depth);
      else if ('qualified' in subject && subject.qualified === 'os.environ' && this.take('['))
        subject = this.environmentVariable(this.peek(-1), depth);
      else break;
    }
    if ('qualified' in subject) throw new CodeFault(line, `'${subject.qualified}' is Python code, ${NOT_RUN}`);
    const after = this.peek();
    if (isOperator(after, '(') || isOperator(after, '[')) throw this.unexpected(after);
    return { ...subject, line };
  }

  /** Returns the value of a name, or the module, class or function that it names. */
  private lookUp(token: Token): PythonValue | Reference {
    const { text, line } = token;
    if (KEYWORDS.has(text)) throw new LiteralFault(line, `'${text}' is Python code; ${ONLY_LITERALS}`);
    if (text === '__file__' && this.context.file !== undefined)
      return { kind: 'string', line, value: this.context.file };
    const imported = this.imports.get(text) ?? (builtIns.has(text) ? text : undefined);
    if (imported !== undefined) return { qualified: imported };
    const assigned = this.variables.get(text);
    if (assigned instanceof LiteralFault)
      throw new CodeFault(line, `'${text}' has no value: line ${assigned.line}: ${assigned.message}`);
    if (assigned !== undefined) {
      this.used.add(text);
      return assigned;
    }
    const after = this.peek();
    if (after.kind === 'operator' && ['(', '.', '['].includes(after.text)) throw this.unexpected(after);
    const meant = PYTHON_SPELLINGS.get(text);
    if (meant !== undefined) throw new LiteralFault(line, `'${text}' is a name: write ${meant}`);
    throw new LiteralFault(line, `'${text}' is a name: put text in quotes; ${ONLY_LITERALS}`);
  }

  /** Reads `.name` of a module or a path, with the arguments of a method. */
  private member(subject: PythonValue | Reference, attribute: Token, depth: number): PythonValue | Reference {
    if (attribute.kind !== 'name') throw this.unexpected(attribute);
    if ('qualified' in subject) return { qualified: `${subject.qualified}.${attribute.text}` };
    const opening = this.peek();
    const isCall = this.take('(');
    const values = isCall ? this.items(opening, ')', depth).items : [];
    const callText = `'.${attribute.text}${isCall ? '(…)' : ''}'`;
    const result = this.runCall(attribute, callText, () =>
      isCall
        ? callMethod(subject, attribute.text, values, this.context)
        : attributeOf(subject, attribute.text, this.context),
    );
    if (result !== undefined) return result;
    throw new CodeFault(attribute.line, `${callText} is Python code, ${NOT_RUN}`);
  }

  private call({ qualified }: Reference, opening: Token, depth: number): PythonValue {
    const keyword = this.peek(1);
    // No supported function has keyword arguments (`namedtuple(field=…)`), so do not read them: the
    // fault below reports the whole call.
    const values = isOperator(keyword, '=') ? [] : this.items(opening, ')', depth).items;
    const callText = `'${qualified}(…)'`;
    const value = this.runCall(opening, callText, () => callFunction(qualified, values, opening.line, this.context));
    if (value !== undefined) return value;
    throw new CodeFault(opening.line, `${callText} is Python code, ${NOT_RUN}`);
  }

  private environmentVariable(opening: Token, depth: number): PythonValue {
    const [key] = this.items(opening, ']', depth).items;
    const value = key?.kind === 'string' ? variableOf(this.context.environment, key.value) : undefined;
    if (value !== undefined) return { kind: 'string', line: opening.line, value };
    throw new LiteralFault(
      opening.line,
      `the environment has no ${key?.kind === 'string' ? key.value : 'such variable'}`,
    );
  }

  /**
   * Runs a call of the configuration, or reads an attribute.
   * @param callText the call in the error, such as `'os.path.join(…)'`.
   * @returns undefined if the daemon does not support it.
   * @throws {LiteralFault} if it fails.
   */
  private runCall({ line }: Token, callText: string, call: () => PythonValue | undefined): PythonValue | undefined {
    try {
      return call();
    } catch (error) {
      if (error instanceof PathFault) throw new LiteralFault(line, `${callText}: ${error.message}`);
      throw error;
    }
  }

  /** Reads a value that begins with a sign or a bracket. */
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
        // Parentheses without a comma are not a tuple.
        if (only !== undefined && commas === 0) return only;
        return { kind: 'tuple', line: token.line, items };
      }
      case '{':
        return this.braces(token, depth);
      default:
        throw this.unexpected(token);
    }
  }

  /** Reads the values up to the closing bracket, and counts the commas. */
  private items(opening: Token, closing: string, depth: number): { items: PythonValue[]; commas: number } {
    const items: PythonValue[] = [];
    let commas = 0;
    this.openBrackets.push(opening);
    while (!this.take(closing)) {
      items.push(this.value(depth + 1));
      if (this.take(',')) commas += 1;
      else this.expectClosing(opening, closing);
    }
    this.openBrackets.pop();
    return { items, commas };
  }

  private expectClosing(opening: Token, closing: string): void {
    const token = this.peek();
    if (isOperator(token, closing)) return;
    if (token.kind === 'end' || this.startsAssignment())
      throw new LiteralFault(opening.line, `the '${opening.text}' that is opened here is never closed`);
    if (token.kind === 'operator' && !')]},:'.includes(token.text)) throw this.unexpected(token);
    if (token.kind === 'fault') throw this.unexpected(token);
    throw new LiteralFault(token.line, `',' or '${closing}' was expected, not ${describe(token)}`);
  }

  private braces(opening: Token, depth: number): PythonValue {
    const entries: DictEntry[] = [];
    const items: PythonValue[] = [];
    this.openBrackets.push(opening);
    while (!this.take('}')) {
      const key = this.value(depth + 1);
      if (items.length === 0 && this.take(':')) {
        if (key.kind === 'dict' || key.kind === 'list' || key.kind === 'set')
          throw new LiteralFault(key.line, 'a list, set or mapping cannot be the key of a mapping');
        entries.push({ key, value: this.value(depth + 1) });
      } else if (entries.length === 0) {
        items.push(key);
      } else {
        throw new LiteralFault(this.peek().line, `':' and a value were expected, not ${describe(this.peek())}`);
      }
      if (!this.take(',')) this.expectClosing(opening, '}');
    }
    this.openBrackets.pop();
    if (items.length > 0) return { kind: 'set', line: opening.line, items };
    return { kind: 'dict', line: opening.line, entries };
  }
}
