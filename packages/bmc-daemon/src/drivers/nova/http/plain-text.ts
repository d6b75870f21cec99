/** Texts of a cloud for clients. Users of the cloud write them, so they may contain anything. */

/** Longer texts are cut. */
const MAX_LINE = 255;

/** Returns a text as one line without control characters. */
export function plainLine(text: string): string {
  // The beginning is enough, also of a text of megabytes.
  const line = text
    .slice(0, 4 * MAX_LINE)
    .replace(/[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  // Characters, not UTF-16 units: a cut must not split one.
  const characters = Array.from(line);
  return characters.length > MAX_LINE ? `${characters.slice(0, MAX_LINE - 1).join('')}…` : line;
}
