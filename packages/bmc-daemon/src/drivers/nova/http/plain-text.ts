/** Texts of a cloud for clients. Users of the cloud write them, so they may contain anything. */

/** Maximum length in characters. Nova's own limit for names is the same. */
const MAX_LINE = 255;

/**
 * Returns a name, at most {@link MAX_LINE} characters of it. Keeps its spaces, because clients find a server by its
 * exact name. Replaces characters that Nova allows in no name, such as control characters.
 */
export function plainName(text: string): string {
  const name = text.slice(0, 2 * MAX_LINE).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\ufffd');
  return Array.from(name).slice(0, MAX_LINE).join('');
}

/** Returns a text as one line without control characters. Shortens it to {@link MAX_LINE} characters. */
export function shortLine(text: string): string {
  // Only the beginning is needed, and the text may have megabytes.
  const line = text
    .slice(0, 4 * MAX_LINE)
    .replace(/[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  // Cuts between characters, not between the UTF-16 units of one character.
  const characters = Array.from(line);
  return characters.length > MAX_LINE ? `${characters.slice(0, MAX_LINE - 1).join('')}…` : line;
}
