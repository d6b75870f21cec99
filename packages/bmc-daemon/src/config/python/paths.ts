/**
 * The functions on paths and on the environment that a configuration file may call. They return
 * what Python returns, except in these cases. `Path.absolute` removes `..`. `realpath` and
 * `Path.resolve` follow no links if the path does not exist or cannot be read. Two slashes at the
 * beginning of a path become one. `~` is an error without HOME, and `~user` is always an error.
 * Only `realpath` and `Path.resolve` read the file system. A configuration file can call no other
 * functions.
 * @see https://docs.python.org/3/library/os.path.html and
 *   https://docs.python.org/3/library/pathlib.html
 */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { PythonValue } from './values.js';

/** Context of the functions, in addition to their arguments. */
export interface PathContext {
  /**
   * Absolute path of the configuration file, Python's `__file__`; undefined if the text is not from
   * a file.
   */
  readonly file?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute base folder of relative paths, as in Python. */
  readonly workingDirectory: string;
}

/** Thrown if a call cannot be evaluated. The caller adds file and line to the message. */
export class PathFault extends Error {}

type Kind = 'string' | 'path';
type PathFunction = (texts: readonly string[], context: PathContext) => string | null;

/** Joins as Python does: an absolute part drops the parts before it. Does not resolve `..`. */
const join = (parts: readonly string[]): string =>
  parts.reduce((joined, part) => {
    if (part.startsWith('/')) return part;
    return joined === '' || joined.endsWith('/') ? joined + part : `${joined}/${part}`;
  });

/** Returns Python's dirname: the text before the last slash; `''` for a bare name. */
const dirname = (text: string): string => {
  const head = text.slice(0, text.lastIndexOf('/') + 1);
  return /^\/*$/.test(head) ? head : withoutTrailingSlashes(head);
};

const absolute = (text: string, { workingDirectory }: PathContext): string => path.resolve(workingDirectory, text);

const real = (text: string, context: PathContext): string => {
  try {
    return realpathSync(absolute(text, context));
  } catch {
    // The path does not exist, or cannot be read: it becomes absolute, without following its links.
    return absolute(text, context);
  }
};

const expandUser = (text: string, { environment }: PathContext): string => {
  if (!text.startsWith('~')) return text;
  const { HOME: home } = environment;
  if (!/^~(\/|$)/.test(text)) throw new PathFault('the home folder of another user is not looked up');
  if (home === undefined) throw new PathFault('the environment has no HOME');
  return home + text.slice(1);
};

/**
 * Returns pathlib's form: without `.`, double slashes and a slash at the end. Does not resolve
 * `..`.
 */
const asPath = (text: string): string => {
  const parts = text.split('/').filter((part) => part !== '' && part !== '.');
  return (text.startsWith('/') ? '/' : '') + parts.join('/') || '.';
};

const parentOf = (text: string): string => asPath(dirname(asPath(text)));

interface Signature {
  readonly returns: Kind;
  readonly minArguments: number;
  readonly maxArguments: number;
  readonly run: PathFunction;
}

const unary = (run: (text: string, context: PathContext) => string, returns: Kind = 'string'): Signature => ({
  returns,
  minArguments: 1,
  maxArguments: 1,
  run: ([text = ''], context) => run(text, context),
});

const variable: Signature = {
  returns: 'string',
  minArguments: 1,
  maxArguments: 2,
  run: ([name = '', fallback], { environment }) => variableOf(environment, name) ?? fallback ?? null,
};

/** Returns an environment variable; undefined if it is not set. Inherited names (`constructor`) are not set. */
export function variableOf(environment: PathContext['environment'], name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}

/** Functions by qualified name. */
const functions = new Map<string, Signature>(
  Object.entries({
    'os.path.join': { returns: 'string', minArguments: 1, maxArguments: 100, run: join },
    'os.path.dirname': unary(dirname),
    'os.path.basename': unary((text) => text.slice(text.lastIndexOf('/') + 1)),
    'os.path.abspath': unary(absolute),
    'os.path.realpath': unary(real),
    'os.path.normpath': unary((text) => (text === '' ? '.' : path.normalize(text).replace(/(.)\/$/, '$1'))),
    'os.path.expanduser': unary(expandUser),
    'os.getcwd': {
      returns: 'string',
      minArguments: 0,
      maxArguments: 0,
      run: (_texts, { workingDirectory }) => workingDirectory,
    },
    'os.getenv': variable,
    'os.environ.get': variable,
    'pathlib.Path': {
      returns: 'path',
      minArguments: 0,
      maxArguments: 100,
      run: (texts) => asPath(join(['', ...texts])),
    },
    str: unary((text) => text),
  } satisfies Record<string, Signature>),
);

/** Methods of a `pathlib.Path`: the first argument is the path itself. */
const methods = new Map<string, Signature>(
  Object.entries({
    resolve: unary(real, 'path'),
    absolute: unary(absolute, 'path'),
    expanduser: unary(expandUser, 'path'),
    joinpath: { returns: 'path', minArguments: 1, maxArguments: 100, run: (texts) => asPath(join(texts)) },
    as_posix: unary((text) => text),
  } satisfies Record<string, Signature>),
);

const attributes = new Map<string, Signature>(
  Object.entries({
    parent: unary(parentOf, 'path'),
    name: unary((text) => text.slice(text.lastIndexOf('/') + 1)),
  } satisfies Record<string, Signature>),
);

/** Names that need no import. */
export const builtIns: ReadonlySet<string> = new Set(['str']);

function texts(values: readonly PythonValue[]): string[] {
  return values.map((value) => {
    if (value.kind !== 'string' && value.kind !== 'path') throw new PathFault('its arguments must be strings or paths');
    return value.value;
  });
}

function run(
  signature: Signature | undefined,
  values: readonly PythonValue[],
  line: number,
  context: PathContext,
): PythonValue | undefined {
  if (signature === undefined) return undefined;
  // `os.environ.get('X', None)` means the same as `os.environ.get('X')`, so a last argument None is dropped.
  const callArguments = signature === variable && values.at(-1)?.kind === 'none' ? values.slice(0, -1) : values;
  if (callArguments.length < signature.minArguments || callArguments.length > signature.maxArguments) {
    throw new PathFault('it does not take this number of arguments');
  }
  const result = signature.run(texts(callArguments), context);
  return result === null ? { kind: 'none', line } : { kind: signature.returns, line, value: result };
}

/**
 * Calls a function.
 * @param name qualified, such as `os.path.join`.
 * @returns undefined for an unknown function.
 * @throws {PathFault} for wrong arguments, and if the function cannot be evaluated.
 */
export function callFunction(
  name: string,
  values: readonly PythonValue[],
  line: number,
  context: PathContext,
): PythonValue | undefined {
  return run(functions.get(name), values, line, context);
}

/**
 * Calls a method of a path.
 * @returns undefined for an unknown method, or if the value is not a path.
 * @throws {PathFault} as {@link callFunction}.
 */
export function callMethod(
  subject: PythonValue,
  name: string,
  values: readonly PythonValue[],
  context: PathContext,
): PythonValue | undefined {
  return subject.kind === 'path' ? run(methods.get(name), [subject, ...values], subject.line, context) : undefined;
}

/** Returns an attribute of a path; undefined if it is unknown, or if the value is not a path. */
export function attributeOf(subject: PythonValue, name: string, context: PathContext): PythonValue | undefined {
  return subject.kind === 'path' ? run(attributes.get(name), [subject], subject.line, context) : undefined;
}

/**
 * Combines two values: `'a' + 'b'`, `[1] + [2]`, `Path('a') / 'b'`. Returns undefined for other
 * types.
 */
export function combine(operator: '+' | '/', left: PythonValue, right: PythonValue): PythonValue | undefined {
  if (operator === '+') {
    if (left.kind === 'string' && right.kind === 'string') return { ...left, value: left.value + right.value };
    if (left.kind === 'list' && right.kind === 'list') return { ...left, items: [...left.items, ...right.items] };
    return undefined;
  }
  if (left.kind !== 'path' || (right.kind !== 'path' && right.kind !== 'string')) return undefined;
  return { ...left, value: asPath(join([left.value, right.value])) };
}
