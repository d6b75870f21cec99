/**
 * Reads YAML's events as PyYAML does where js-yaml is stricter. YAML requires the lines of a flow collection (`{…}`, `[…]`) and of a
 * quoted text to be indented deeper than their key. PyYAML ignores indentation there, and configurations close a collection below
 * the beginning of its key:
 *
 *     model_info: {
 *       mode: chat
 *     }
 */
import { parseEvents, YAMLException, type Event } from 'js-yaml';

export interface YamlEvents {
  /** The text that the positions of the events refer to: more indented, with the same lines. */
  readonly text: string;
  readonly events: readonly Event[];
}

/** js-yaml gives this reason within flow collections and quoted texts only, where indentation has no meaning. */
const DEFICIENT = 'deficient indentation';
/** Each takes another pass over the text. */
const MOST_LINES = 1000;

/** @throws {YAMLException} the text is not YAML to PyYAML either. */
export function readEvents(text: string, file: string): YamlEvents {
  const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
  // No node is indented deeper than the longest line.
  let indentation = '';
  for (let count = 0; ; count += 1) {
    const present = count === 0 ? text : lines.join('');
    try {
      return { text: present, events: parseEvents(present, { filename: file }) };
    } catch (error) {
      const index = count < MOST_LINES ? deficientLine(error) : undefined;
      const line = lines[index ?? -1];
      // PyYAML refuses a tab here, and so does js-yaml.
      if (index === undefined || line === undefined || /^ *\t/.test(line)) throw error;
      indentation ||= ' '.repeat(Math.max(...lines.map(({ length }) => length)));
      if (line.startsWith(indentation)) throw error;
      lines[index] = indentation + line;
    }
  }
}

/** Index of the line that an error is about; undefined: the error is another one. */
function deficientLine(error: unknown): number | undefined {
  return error instanceof YAMLException && error.reason === DEFICIENT ? error.mark?.line : undefined;
}
