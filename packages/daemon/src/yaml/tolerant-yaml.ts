/**
 * Parses YAML that PyYAML accepts and js-yaml rejects.
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
 *
 * In a flow collection, PyYAML reads a lone hyphen as text:
 *
 *     stop: [-, +]
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

/** js-yaml's reason for too little indentation, only in flow collections and quoted strings. */
const DEFICIENT = 'deficient indentation';
/** js-yaml's reason for a lone hyphen in a flow collection. Other faults have the same reason. */
const NO_COMMA = 'missed comma between flow collection entries';
/** Maximum number of corrections: each needs another pass over the text. */
const MAX_CORRECTIONS = 1000;
/**
 * Maximum number of characters of all passes together: a reload must not stop the process
 * for more than a few seconds.
 */
const MAX_CORRECTED_LENGTH = 32 * 1024 * 1024;

/**
 * Parses a text.
 * @throws {YAMLException} if PyYAML would not accept it either, or if the text needs too many
 *   corrections.
 */
export function readEvents(text: string, file: string): YamlEvents {
  const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
  // More indentation than any line has is always enough.
  const indentation = ' '.repeat(lines.reduce((longest, { length }) => Math.max(longest, length), 0));
  let parsedLength = 0;
  for (let count = 0; ; count += 1) {
    const correctedText = count === 0 ? text : lines.join('');
    parsedLength += correctedText.length;
    try {
      return { text: correctedText, events: parseEvents(correctedText, { filename: file }) };
    } catch (error) {
      if (!(error instanceof YAMLException) || count === MAX_CORRECTIONS || parsedLength > MAX_CORRECTED_LENGTH)
        throw error;
      const index = error.mark?.line ?? -1;
      const line = correctLine(lines[index] ?? '', error, indentation);
      if (line === undefined) throw error;
      lines[index] = line;
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
  if (reason === NO_COMMA && /^-[,\]}\r\n]/.test(line.slice(column)))
    return `${line.slice(0, column)}"-"${line.slice(column + 1)}`;
  if (line[column] !== '#' || !/["'{}[\],]/.test(line[column - 1] ?? '')) return undefined;
  return `${line.slice(0, column)} ${line.slice(column)}`;
}
