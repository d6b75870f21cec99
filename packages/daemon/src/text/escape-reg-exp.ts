/**
 * Returns a text in which the characters with a meaning in regular expressions are escaped, so that
 * the pattern matches the text itself. Node 24 has this as `RegExp.escape`.
 */
export function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
