/**
 * Formats plain values as Python literals, for messages, `bmc-daemon check` and the documentation.
 */
import { maskPassword } from '@rackless/daemon/text/mask-url.js';

/** Returns a Python literal of the value. The only exception is an infinite number: `Infinity`. */
export function formatLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return formatString(value);
  if (Array.isArray(value)) return `[${value.map(formatLiteral).join(', ')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value).map(([key, member]) => `${formatString(key)}: ${formatLiteral(member)}`);
    return `{${entries.join(', ')}}`;
  }
  // `Infinity` is no Python literal, but JSON.stringify would print null, which is less clear in a message.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

function formatString(value: string): string {
  // Python knows the escapes of JSON. As in Python's repr, the outer quotes are single quotes, unless
  // the text contains single quotes and no double quotes.
  const body = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"');
  return value.includes("'") && !value.includes('"') ? `"${body}"` : `'${body.replaceAll("'", "\\'")}'`;
}

/**
 * Returns a Python literal of a key or an index, for messages. Masks passwords: a misplaced
 * connection URI may be a key.
 */
export const formatKey = (key: unknown): string => formatLiteral(typeof key === 'string' ? maskPassword(key) : key);

/** Describes a value for "must be …, not …", such as `the string '8000'` or `a list`. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') {
    const shown = maskPassword(value);
    return `the string ${formatString(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown)}`;
  }
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  return formatLiteral(value);
}
