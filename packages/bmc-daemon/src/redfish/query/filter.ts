/**
 * `$filter`: compiles an expression into a function (DSP0266, $filter). Operators from the tightest
 * binding: grouping, `not`, `gt ge lt le`, `eq ne`, `and`, `or`. A comparison has a property on one
 * side and a literal on the other.
 */
import { isObject, type Json, type JsonObject } from '../json.js';

/** Whether a member matches. */
export type Filter = (member: JsonObject) => boolean;

/** The error for a malformed filter, or for a property that cannot be compared. */
export class FilterSyntaxError extends Error {
  override readonly name = 'FilterSyntaxError';
}

const operators = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const;
type Operator = (typeof operators)[number];

type Literal = string | number | boolean | null;

type Token =
  | { readonly kind: '(' | ')' | 'and' | 'or' | 'not' }
  | { readonly kind: 'operator'; readonly operator: Operator }
  | { readonly kind: 'literal'; readonly value: Literal }
  | { readonly kind: 'path'; readonly names: readonly string[] };

/**
 * Maximum nesting of brackets and `not`. A URI of 16 KiB could otherwise exhaust the parser's
 * stack.
 */
const maxDepth = 50;

/**
 * Compiles a filter.
 * @param names the top-level properties that can be compared. Default: all properties at any depth.
 *   A property that a member lacks has the value null.
 * @throws {FilterSyntaxError} if the text is malformed, or compares a property that `names` does not contain.
 */
export function parseFilter(text: string, names?: ReadonlySet<string>): Filter {
  const tokenList = tokens(text);
  for (const token of tokenList) {
    const [name = ''] = token.kind === 'path' ? token.names : [];
    if (names !== undefined && token.kind === 'path' && !(names.has(name) && token.names.length === 1)) {
      throw new FilterSyntaxError(`the property ${token.names.join('/')} cannot be compared`);
    }
  }
  const parser = new Parser(tokenList);
  const filter = parser.disjunction(0);
  if (!parser.atEnd) throw new FilterSyntaxError('there is text after the expression');
  return filter;
}

const pattern =
  /\s*(?:([()])|'((?:[^']|'')*)'|([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w:.-])|([A-Za-z_@#][\w.@#-]*(?:\/[A-Za-z_@#][\w.@#-]*)*))/y;

function tokens(text: string): readonly Token[] {
  const tokenList: Token[] = [];
  const textEnd = text.trimEnd().length;
  pattern.lastIndex = 0;
  while (pattern.lastIndex < textEnd) {
    const match = pattern.exec(text);
    if (match === null) throw new FilterSyntaxError('it contains text that is not part of an expression');
    const [, bracket, string, number, word] = match;
    if (bracket !== undefined) tokenList.push({ kind: bracket === '(' ? '(' : ')' });
    else if (string !== undefined) tokenList.push({ kind: 'literal', value: string.replaceAll("''", "'") });
    else if (number !== undefined) tokenList.push({ kind: 'literal', value: Number(number) });
    else tokenList.push(wordToken(word ?? ''));
  }
  return tokenList;
}

function wordToken(word: string): Token {
  switch (word) {
    case 'and':
    case 'or':
    case 'not':
      return { kind: word };
    case 'true':
    case 'false':
      return { kind: 'literal', value: word === 'true' };
    case 'null':
      return { kind: 'literal', value: null };
  }
  const operator = operators.find((candidate) => candidate === word);
  return operator === undefined ? { kind: 'path', names: word.split('/') } : { kind: 'operator', operator };
}

/** A recursive-descent parser with one method for each precedence, lowest first. */
class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokenList: readonly Token[]) {
    this.#tokens = tokenList;
  }

  get atEnd(): boolean {
    return this.#next === this.#tokens.length;
  }

  disjunction(depth: number): Filter {
    const branches = [this.#conjunction(depth)];
    while (this.#take('or')) branches.push(this.#conjunction(depth));
    const [only] = branches;
    return branches.length === 1 && only !== undefined ? only : (member) => branches.some((branch) => branch(member));
  }

  #conjunction(depth: number): Filter {
    const branches = [this.#negation(depth)];
    while (this.#take('and')) branches.push(this.#negation(depth));
    const [only] = branches;
    return branches.length === 1 && only !== undefined ? only : (member) => branches.every((branch) => branch(member));
  }

  /**
   * Parses a negation, a group or a comparison. `not` binds tighter than a comparison, so its operand is a
   * group or a negation.
   */
  #negation(depth: number): Filter {
    if (depth > maxDepth) throw new FilterSyntaxError('it is nested too deeply');
    if (this.#take('not')) {
      const negated = this.#peek()?.kind === 'not' ? this.#negation(depth + 1) : this.#group(depth);
      return (member) => !negated(member);
    }
    return this.#peek()?.kind === '(' ? this.#group(depth) : this.#comparison();
  }

  #group(depth: number): Filter {
    if (!this.#take('(')) throw new FilterSyntaxError('a bracket is missing');
    const inner = this.disjunction(depth + 1);
    if (!this.#take(')')) throw new FilterSyntaxError('a bracket is missing');
    return inner;
  }

  #comparison(): Filter {
    const [left, operation, right] = [this.#advance(), this.#advance(), this.#advance()];
    if (operation?.kind !== 'operator') throw new FilterSyntaxError('a comparison is missing');
    const { operator } = operation;
    if (left?.kind === 'path' && right?.kind === 'literal') return comparison(left.names, operator, right.value);
    if (left?.kind === 'literal' && right?.kind === 'path') {
      return comparison(right.names, mirrored[operator], left.value);
    }
    throw new FilterSyntaxError('a comparison is between a property and a value');
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #advance(): Token | undefined {
    return this.#tokens[this.#next++];
  }

  #take(kind: Token['kind']): boolean {
    if (this.#peek()?.kind !== kind) return false;
    this.#next += 1;
    return true;
  }
}

/** The operator that gives the same result if the two sides are exchanged. */
const mirrored = {
  eq: 'eq',
  ne: 'ne',
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
} as const satisfies Readonly<Record<Operator, Operator>>;

function comparison(names: readonly string[], operator: Operator, literal: Literal): Filter {
  const isTrueFor = comparatorOf(operator, literal);
  return (member) => isTrueFor(valueAt(member, names));
}

/** Returns the comparison with a literal. If a side is null, `gt`, `ge`, `lt` and `le` are false, as in OData. */
function comparatorOf(operator: Operator, literal: Literal): (value: Json) => boolean {
  switch (operator) {
    case 'eq':
      return (value) => order(value, literal) === 0;
    case 'ne':
      return (value) => order(value, literal) !== 0;
    case 'gt':
      return (value) => (order(value, literal) ?? 0) > 0;
    case 'ge':
      return (value) => (order(value, literal) ?? -1) >= 0 && literal !== null;
    case 'lt':
      return (value) => (order(value, literal) ?? 0) < 0;
    case 'le':
      return (value) => (order(value, literal) ?? 1) <= 0 && literal !== null;
  }
}

/**
 * Compares two values: negative, 0 or positive; undefined if they differ and are not both numbers
 * or both strings.
 */
function order(value: Json, literal: Literal): number | undefined {
  if (value === literal) return 0;
  if (typeof value === 'number' && typeof literal === 'number') return value - literal;
  if (typeof value !== 'string' || typeof literal !== 'string') return undefined;
  const [left, right] = [instant(value), instant(literal)];
  // Compares two times as moments, because a moment has several spellings: `Z`, `+00:00` and other offsets.
  if (left !== undefined && right !== undefined) return left - right;
  return value < literal ? -1 : 1;
}

function instant(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Returns the value of a path; null if it is absent, as in OData. */
function valueAt(member: JsonObject, names: readonly string[]): Json {
  let value: Json = member;
  for (const name of names) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return null;
    value = value[name] ?? null;
  }
  return value;
}
