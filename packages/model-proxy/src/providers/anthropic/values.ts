/** Reads values of unknown shape: messages of clients, and answers of the upstream. */

/** An object of JSON. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Returns an object as a record; undefined: the value is not an object. */
export function recordOf(value: unknown): JsonRecord | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

/** Returns a text; undefined: the value is not a text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the objects of a list, without its other elements. Empty if the value is not a list. */
export function recordsOf(value: unknown): readonly JsonRecord[] {
  if (!Array.isArray(value)) return [];
  return value.map((element: unknown) => recordOf(element)).filter((element) => element !== undefined);
}
