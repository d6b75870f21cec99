/**
 * What a setting's value may be, as functions from an unknown value to one of a known type. Not zod, which the rest of the house uses at
 * its edges: loading it is a fifth of the time that the proxy takes to listen (docs/decisions/007).
 */

/** A value that is right, or where in it something is wrong: the empty path is the value as a whole. */
export type Checked<T> = { readonly value: T } | { readonly wrong: readonly (readonly (string | number)[])[] };

export type Check<T> = (value: unknown) => Checked<T>;

const wrong: { readonly wrong: readonly (readonly (string | number)[])[] } = { wrong: [[]] };

/** A text that is read to something. @param read gives undefined where the text is not right. */
export const textThat =
  <T>(read: (text: string) => T | undefined): Check<T> =>
  (value) => {
    const found = typeof value === 'string' ? read(value) : undefined;
    return found === undefined ? wrong : { value: found };
  };

/** A text with something in it. */
export const anyText: Check<string> = textThat((text) => (text === '' ? undefined : text));

/** `true` and `false` as people write them in environment variables; undefined: it is neither. */
export function booleanWord(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  return ['false', '0', 'no', 'off'].includes(word) ? false : undefined;
}

/** A boolean; LiteLLM takes the words as texts too, and from the environment there is nothing else. */
export const trueOrFalse: Check<boolean> = (value) =>
  typeof value === 'boolean' ? { value } : textThat(booleanWord)(value);

/** A number within bounds, both included, or a text that is one (from the environment). */
export const numberFrom =
  (least: number, most: number): Check<number> =>
  (value) => {
    const found = typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
    // NaN is in no order, and the infinities are beyond every bound.
    return typeof found === 'number' && found >= least && found <= most ? { value: found } : wrong;
  };

/** A list of which every item is right. */
export const listOf =
  <T>(item: Check<T>): Check<readonly T[]> =>
  (value) => {
    if (!Array.isArray(value)) return wrong;
    return gather(
      value.map((member: unknown, index) => [index, item(member)] as const),
      (members) => members.map(([, member]) => member),
    );
  };

/** A mapping of which every member is right. */
export const mappingOf =
  <T>(member: Check<T>): Check<Readonly<Record<string, T>>> =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong;
    return gather(
      Object.entries(value).map(([key, part]: [string, unknown]) => [key, member(part)] as const),
      (members) => Object.fromEntries(members),
    );
  };

/** Anything at all. */
export const anything: Check<unknown> = (value) => ({ value });

/** A text, or a number or a boolean as a text. */
export const scalarText: Check<string> = (value) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? { value: String(value) }
    : wrong;

/** Everything that is wrong among the parts, or what they make. */
function gather<K extends string | number, T, W>(
  parts: readonly (readonly [key: K, checked: Checked<T>])[],
  make: (members: readonly (readonly [key: K, value: T])[]) => W,
): Checked<W> {
  const faults = parts.flatMap(([key, checked]) =>
    'wrong' in checked ? checked.wrong.map((path) => [key, ...path]) : [],
  );
  if (faults.length > 0) return { wrong: faults };
  return {
    value: make(parts.flatMap(([key, checked]) => ('value' in checked ? [[key, checked.value] as const] : []))),
  };
}
