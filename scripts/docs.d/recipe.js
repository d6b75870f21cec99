/**
 * Reads the recipes of docs/internals/how-to/ and makes their changes.
 *
 * A heading with a path in backticks starts a step: the file at this path changes. Blocks of `diff` below
 * it are the change; a line `@@` separates two places of the file. A heading that ends with `(new)`
 * has the whole file in its block of `ts`. A heading that ends with `(generated)` has no code.
 * Blocks of `sh` are the commands of the reader after the changes.
 */

const heading = /^#{2,3} .*`([\w./-]+)`(?: \((new|generated)\))?$/;

/**
 * Returns `{stated, steps, commands}` of a page. `stated` is the number of files in its text, `**3
 * files**`. Each step is `{path, kind, blocks}`; kind is `new`, `generated` or undefined for an
 * edit.
 */
export function readRecipe(text) {
  const steps = [];
  const commands = [];
  let block;
  for (const line of text.split('\n')) {
    const fence = /^```(\w*)/.exec(line);
    if (fence !== null) {
      if (block === undefined && fence[1] !== '') block = { language: fence[1], lines: [] };
      else {
        if (block.language === 'sh') commands.push(...block.lines);
        else steps.at(-1)?.blocks.push(block);
        block = undefined;
      }
    } else if (block !== undefined) block.lines.push(line);
    else if (line.startsWith('#')) {
      const [, path, kind] = heading.exec(line) ?? [];
      if (path !== undefined) steps.push({ path, kind, blocks: [] });
    }
  }
  return { stated: Number(/\*\*(\d+) files\*\*/.exec(text)?.[1]), steps, commands };
}

/**
 * Returns the text of a step's file after the step.
 * @param present its text before the step; undefined for a new file.
 * @throws {Error} if a place of the diff is not exactly once in the file.
 */
export function applyStep({ path, kind, blocks }, present) {
  if (kind === 'new') return `${blocks.map(({ lines }) => lines.join('\n')).join('\n')}\n`;
  return blocks.flatMap(hunksOf).reduce((text, { before, after }) => {
    const at = text.indexOf(before);
    if (at < 0) throw new Error(`${path} does not contain:\n${before}`);
    if (text.includes(before, at + 1)) throw new Error(`${path} contains more than once:\n${before}`);
    return text.slice(0, at) + after + text.slice(at + before.length);
  }, present);
}

/** Returns the old and the new text of each place of a diff. */
function hunksOf({ lines }) {
  const hunks = [[]];
  for (const line of lines) {
    if (line.startsWith('@@')) hunks.push([]);
    else hunks.at(-1).push(line);
  }
  const side = (hunk, other) =>
    hunk
      .filter((line) => !line.startsWith(other))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  return hunks.map((hunk) => ({ before: side(hunk, '+'), after: side(hunk, '-') }));
}
