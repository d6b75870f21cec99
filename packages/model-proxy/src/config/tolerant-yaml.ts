/**
 * Parses YAML as tolerantly as PyYAML where js-yaml is stricter.
 *
 * YAML requires that the lines of a flow collection (`{…}`, `[…]`) and of a quoted string are
 * indented more than their key. PyYAML ignores their indentation, and real configurations close a
 * collection at the indentation of its key:
 *
 *     model_info: {
 *       mode: chat
 *     }
 *
 * YAML requires a space before a comment. After a quoted string and after `{}[],`, PyYAML does not:
 *
 *     model: "openai/gpt-4o"# the large one
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
/** Maximum number of corrections: each needs another pass over the text. */
const MAX_CORRECTIONS = 1000;

/** Parses a text. @throws {YAMLException} if PyYAML would not accept it either. */
export function readEvents(text: string, file: string): YamlEvents {
  const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
  // More indentation than any line has is always enough.
  const indentation = ' '.repeat(Math.max(...lines.map(({ length }) => length)));
  for (let count = 0; ; count += 1) {
    const present = count === 0 ? text : lines.join('');
    try {
      return { text: present, events: parseEvents(present, { filename: file }) };
    } catch (error) {
      if (count === MAX_CORRECTIONS || !(error instanceof YAMLException)) throw error;
      const index = error.mark?.line ?? -1;
      const corrected = correctLine(lines[index] ?? '', error, indentation);
      if (corrected === undefined) throw error;
      lines[index] = corrected;
    }
  }
}

/** Returns the line without the fault; undefined if PyYAML does not accept the line either. */
function correctLine(line: string, { reason, mark }: YAMLException, indentation: string): string | undefined {
  if (reason === DEFICIENT) {
    // Both PyYAML and js-yaml reject a tab here.
    return /^ *\t/.test(line) || line.startsWith(indentation) ? undefined : indentation + line;
  }
  const column = mark?.column ?? 0;
  if (line[column] !== '#' || !/["'{}[\],]/.test(line[column - 1] ?? '')) return undefined;
  return `${line.slice(0, column)} ${line.slice(column)}`;
}
