/** Reads the errors and the texts of the invented API. */
import type { UpstreamError } from '../../../src/providers/dialect.js';

/** Reads the error `{"trouble": {"kind": …, "words": …, "about": …}}`; undefined: there is none. */
export function errorIn(value: unknown): UpstreamError | undefined {
  if (typeof value !== 'object' || value === null || !('trouble' in value)) return undefined;
  const words = textIn(value.trouble, 'words');
  if (words === null) return undefined;
  return { message: words, code: textIn(value.trouble, 'kind'), param: textIn(value.trouble, 'about'), type: 'parley' };
}

/** Returns the member of an object with this name; null: there is none, or it is not a text. */
export function textIn(value: unknown, name: string): string | null {
  const text: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : null;
  return typeof text === 'string' ? text : null;
}
