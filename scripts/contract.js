/**
 * Compares docs/reference/contract.md with the tests. Reports rows without a test whose title
 * begins with the row's id, ids with two rows, and ids without a row that a title or a page cites. Ends with
 * status 1 if it reports anything.
 *
 * `--page FILE` reads another page. `--spec PACKAGE FILE` also reports rows of the tables in the source
 * document FILE that the page lacks. Two rows are the same if their headings and their subjects are the same
 * (see subjectOf). `<…>` and `{…}` in FILE match any text without a slash.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const prefixes = { 'bmc-daemon': 'RF', 'model-proxy': 'MP' };
const plain = (cell) => cell.replaceAll('`', '').trim();
const cellsOf = (line) => line.split('|').slice(1, -1).map(plain);

/** Reads a file, or the text of a `data:text/plain,…` URL. */
function readText(file) {
  const [, text] = /^data:text\/plain,(.*)$/.exec(file) ?? [];
  return text === undefined ? readFileSync(file, 'utf8') : decodeURIComponent(text);
}

/** Returns the rows of the page, `{id, heading, subject}`. */
function readRows(text) {
  let heading = '';
  return text.split('\n').flatMap((line) => {
    heading = /^### (.*)$/.exec(line)?.[1] ?? heading;
    const [id, subject] = cellsOf(line);
    return /^(RF|MP)-\d+$/.test(id ?? '') ? [{ id, heading, subject }] : [];
  });
}

function filesBelow(folder, ending) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

/**
 * Returns the ids that the files cite, each with one of its files. `pattern` has the id as its
 * first group.
 */
function readIds(files, pattern) {
  const citations = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([, id]) => [id, file]),
  );
  return new Map(citations);
}

function compare(rows) {
  const packages = Object.keys(prefixes).map((name) => `packages/${name}`);
  const tests = packages.flatMap((folder) => filesBelow(`${folder}/test`, '.test.ts'));
  const pages = ['README.md', 'CONTRIBUTING.md', ...packages.map((folder) => `${folder}/README.md`)];
  const tested = readIds(tests, /['"`]((?:RF|MP)-\d+) /g);
  const cited = new Map([...readIds([...pages, ...filesBelow('docs', '.md')], /\b((?:RF|MP)-\d+)\b/g), ...tested]);
  const all = rows.map(({ id }) => id);
  const ids = new Set(all);
  return [
    ...[...ids].filter((id) => !tested.has(id)).map((id) => `${id}: no test`),
    ...all.filter((id, index) => all.indexOf(id) !== index).map((id) => `${id}: two rows`),
    ...[...cited].filter(([id]) => !ids.has(id)).map(([id, file]) => `${id}: no row, but cited by ${file}`),
  ];
}

/** Returns the rows of a source document's tables, `{heading, subject}`. */
function readSourceTables(text) {
  let chapter = '';
  let heading = '';
  return text.split('\n').flatMap((line, index, lines) => {
    const [, number, title] = /^## (\d+)\. (.*)$/.exec(line) ?? [];
    if (number !== undefined) [chapter, heading] = [number, title];
    heading = /^### ([^(]*?)\s*(?:\(|$)/.exec(line)?.[1] ?? heading;
    // Skips the head of a table and the rule below it.
    if (!line.startsWith('|') || !lines[index - 1]?.startsWith('|') || /^\|[-|]+\|$/.test(line)) return [];
    return [{ heading, subject: subjectOf(chapter, cellsOf(line)) }];
  });
}

/**
 * Returns the subject of a row of the source document: the first cell. Exceptions: the subject of a transition
 * (chapter 3) is its state and its trigger, the subject of an endpoint (chapter 4) is its method and its path.
 */
function subjectOf(chapter, [first, second]) {
  if (chapter === '3') return `${first}, ${second}`;
  return chapter === '4' && /^[A-Z]+$/.test(first) ? `${first} ${second}` : first;
}

function missingRows(rows, source) {
  const matches = (pattern, text) => {
    const parts = pattern
      .split(/<[^>]*>|\{[^}]*\}/)
      .map((part) => part.replaceAll(/[.[\]()$^*+?|\\]/g, String.raw`\$&`));
    return new RegExp(`^${parts.join('[^/]*')}$`).test(text);
  };
  return source
    .filter((row) => !rows.some((own) => matches(row.heading, own.heading) && matches(row.subject, own.subject)))
    .map(({ heading, subject }) => `no row for: ${heading} | ${subject}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { page: { type: 'string', default: join(root, 'docs/reference/contract.md') }, spec: { type: 'string' } },
});
const rows = readRows(readText(values.page));
const faults = compare(rows);
if (values.spec !== undefined) {
  const own = rows.filter(({ id }) => id.startsWith(prefixes[values.spec]));
  faults.push(...missingRows(own, readSourceTables(readText(positionals[0]))));
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
