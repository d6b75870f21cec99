/** Console output as plain text. */

/** Matches the escape sequences of terminals: CSI, OSC and similar strings, and short ones such as `ESC ( B`. */
const sequence = new RegExp(
  [
    String.raw`\u001b\[[0-?]*[ -/]*[@-~]`,
    String.raw`\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?`,
    String.raw`\u001b[ -/]*[0-~]?`,
  ].join('|'),
  'g',
);
/** Matches control characters except tab and line feed. */
// oxlint-disable-next-line no-control-regex -- `plainLines` removes these characters
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Returns the lines of console output without escape sequences and control characters, but with tabs. Carriage
 * returns before a line feed are part of the same line end. Each other carriage return also ends a line.
 */
export function plainLines(output: string): readonly string[] {
  const text = output
    .replaceAll(sequence, '')
    // One match takes a whole run of carriage returns, so the time stays linear. Older browsers lack lookbehind.
    .replaceAll(/\r+\n?/g, (run) => (run.endsWith('\n') ? '\n' : run))
    .replaceAll('\r', '\n')
    .replaceAll(control, '');
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
