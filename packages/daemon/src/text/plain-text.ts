/** Makes texts of services harmless for a terminal. */

/**
 * Control characters, and characters that reorder or hide text. A service may send names with
 * escape sequences, which could write to the clipboard or change earlier lines of the terminal.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\p{Cs}/gu;

const escaped = (character: string): string => {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
};

/** Returns the text in one line, with escapes such as `\x1b` in place of unsafe characters. */
export function plainLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(UNSAFE, escaped);
}

/** Returns the text with its lines, with escapes in place of other unsafe characters. */
export function plainText(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(UNSAFE, escaped))
    .join('\n');
}

/** Returns a value as JSON in which JSON's own escapes replace all unsafe characters. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
    .split('\n')
    .map((line) =>
      line.replace(UNSAFE, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`),
    )
    .join('\n');
}

/** Characters that take two columns in a terminal. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

const columnsOf = (character: string): number => (/\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** Returns the number of columns that a line takes in a terminal. */
export function widthOf(line: string): number {
  let width = 0;
  for (const character of line) width += columnsOf(character);
  return width;
}

/** Cuts a line to a number of columns. The last column then shows `…`. */
export function cutLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let width = 1;
  let cut = '';
  for (const character of line) {
    width += columnsOf(character);
    if (width > columns) break;
    cut += character;
  }
  return `${cut}…`;
}
