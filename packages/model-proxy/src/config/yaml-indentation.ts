/**
 * Parses YAML as tolerantly as PyYAML where js-yaml is stricter. YAML requires that the lines of a
 * flow collection (`{…}`, `[…]`) and of a quoted string are indented more than their key. PyYAML
 * ignores their indentation, and real configurations close a collection at the indentation of its
 * key:
 *
 *     model_info: {
 *       mode: chat
 *     }
 */
import { parseEvents, YAMLException, type Event } from 'js-yaml';

/** A parsed text. */
interface YamlEvents {
  /**
   * The text that the positions refer to: some of its lines are indented more, their numbers are
   * unchanged.
   */
  readonly text: string;
  readonly events: readonly Event[];
}

/** js-yaml's reason for this error, which only occurs in flow collections and quoted strings. */
const DEFICIENT = 'deficient indentation';
/** Maximum number of corrected lines: each needs another pass over the text. */
const MOST_LINES = 1000;

/** Parses a text. @throws {YAMLException} if PyYAML would not accept it either. */
export function readEvents(text: string, file: string): YamlEvents {
  const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
  // More indentation than any line has is always enough.
  let indentation = '';
  for (let count = 0; ; count += 1) {
    const present = count === 0 ? text : lines.join('');
    try {
      return { text: present, events: parseEvents(present, { filename: file }) };
    } catch (error) {
      const index = count < MOST_LINES ? deficientLine(error) : undefined;
      const line = lines[index ?? -1];
      // Both PyYAML and js-yaml reject a tab here.
      if (index === undefined || line === undefined || /^ *\t/.test(line)) throw error;
      indentation ||= ' '.repeat(Math.max(...lines.map(({ length }) => length)));
      if (line.startsWith(indentation)) throw error;
      lines[index] = indentation + line;
    }
  }
}

/** Returns the index of the faulty line; undefined for other errors. */
function deficientLine(error: unknown): number | undefined {
  return error instanceof YAMLException && error.reason === DEFICIENT ? error.mark?.line : undefined;
}
