/**
 * The nesting of parsed values. `JSON.parse` has no limit, but `JSON.stringify` exceeds the stack after a
 * few thousand levels. Bodies of model requests have a limit (scanner.ts). Errors of upstreams, JSON inside of
 * strings, and bodies of management requests have none, so these functions check the depth.
 */
import { MAX_DEPTH } from './scanner.js';

/** Returns whether a parsed value has at most `depth` levels of objects and arrays. */
export function isWithinDepth(value: unknown, depth = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithinDepth(inner, depth - 1));
}

/** Returns a parsed value as JSON; undefined: the value is nested deeper than {@link MAX_DEPTH}. */
export function jsonWithinDepth(value: unknown): string | undefined {
  return isWithinDepth(value) ? JSON.stringify(value) : undefined;
}
