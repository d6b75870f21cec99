/** Values from Python literals and supported calls, with their places in the file. */

/** The value of a literal or of a supported call, with its first line. So a message can point into a mapping. */
export type PythonValue =
  | { readonly kind: 'none'; readonly line: number }
  | { readonly kind: 'boolean'; readonly line: number; readonly value: boolean }
  | { readonly kind: 'integer' | 'float'; readonly line: number; readonly value: number }
  /** `path`: a `pathlib.Path`, which a setting reads as its text. */
  | { readonly kind: 'string' | 'path'; readonly line: number; readonly value: string }
  | { readonly kind: 'list' | 'tuple' | 'set'; readonly line: number; readonly items: readonly PythonValue[] }
  | { readonly kind: 'dict'; readonly line: number; readonly entries: readonly DictEntry[] };

/** A key of a mapping with its value. */
export interface DictEntry {
  readonly key: PythonValue;
  readonly value: PythonValue;
}

/**
 * Returns the value as plain data: None as null, lists, tuples and sets as arrays, mappings as
 * objects. If a mapping has a key twice, the last value counts, as in Python. A key that is not a
 * string becomes its JSON text.
 */
export function toPlain(value: PythonValue): unknown {
  switch (value.kind) {
    case 'none':
      return null;
    case 'list':
    case 'tuple':
    case 'set':
      return value.items.map(toPlain);
    case 'dict':
      return Object.fromEntries(value.entries.map((entry) => [keyText(entry.key), toPlain(entry.value)]));
    default:
      return value.value;
  }
}

function keyText(key: PythonValue): string {
  return key.kind === 'string' ? key.value : JSON.stringify(toPlain(key));
}

/** Returns the first line of the part of `value` at `path`, or of its nearest existing parent. */
export function lineAt(value: PythonValue, path: readonly PropertyKey[]): number {
  const [step, ...rest] = path;
  if (step === undefined) return value.line;
  if (value.kind === 'dict') {
    const entry = value.entries.findLast(({ key }) => keyText(key) === step);
    return entry === undefined ? value.line : rest.length === 0 ? entry.value.line : lineAt(entry.value, rest);
  }
  const item = 'items' in value ? value.items[Number(step)] : undefined;
  return item === undefined ? value.line : lineAt(item, rest);
}
