/**
 * Makes docs/internals/spec-coverage.md from the titles of the tests in test/spec/, `§2 Server | PowerState | what is expected (B4)`.
 * `node spec-coverage.js` writes the page, `--check` fails when it is not what would be written, `--spec PACKAGE FILE` fails when
 * a row of a table of that specification has no test in that package.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import ts from 'typescript-api';

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));
const page = join(root, 'docs', 'internals', 'spec-coverage.md');
/** Packages that have a specification, and what it is of. */
const contracts = { 'bmc-daemon': 'Redfish BMC', 'model-proxy': 'Model proxy' };

/** `{section, row, expected, file}` of every test whose title names a row, in the order of files and tests. */
function readTests(name) {
  const suite = join(root, 'packages', name, 'test', 'spec');
  return readdirSync(suite)
    .filter((file) => file.endsWith('.test.ts'))
    .toSorted()
    .flatMap((file) => titlesOf(suite, file).map((title) => ({ ...splitTitle(title, file), file })));
}

function titlesOf(suite, file) {
  const titles = [];
  const visit = (node) => {
    if (ts.isStringLiteralLike(node) && node.text.startsWith('§') && ts.isCallExpression(node.parent)) {
      titles.push(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(join(suite, file), 'utf8'), ts.ScriptTarget.Latest, true));
  return titles;
}

function splitTitle(title, file) {
  const [section, row, ...expected] = title.split(' | ');
  if (expected.length !== 1) throw new Error(`reading ${file}: "${title}" is not "§n table | row | what is expected"`);
  return { section, row, expected: expected[0] };
}

/** The page, Markdown. */
export function renderSpecCoverage() {
  return [
    '# Coverage of the specifications',
    '',
    'Every row of the tables of both contracts, with the test that holds it. Made by `npm run generate`; the identifiers in brackets',
    'are those of the issue that asked for it.',
    ...Object.entries(contracts).flatMap(([name, title]) => renderContract(name, title)),
    '',
  ].join('\n');
}

function renderContract(name, title) {
  const chapter = ({ section }) => Number.parseInt(section.slice(1), 10);
  const tests = readTests(name).toSorted((left, right) => chapter(left) - chapter(right));
  const sections = [...new Set(tests.map(({ section }) => section))];
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  return [
    '',
    `## ${title}`,
    '',
    `${tests.length} rows, tested in \`packages/${name}/test/spec/\`.`,
    ...sections.flatMap((section) => [
      '',
      `### ${section}`,
      '',
      '| Row | What is tested | File |',
      '|---|---|---|',
      ...tests
        .filter((test) => test.section === section)
        .map(({ row, expected, file }) => `| ${cell(row)} | ${cell(expected)} | ${file} |`),
    ]),
  ];
}

/** Rows of the specification's tables that no test names. */
function uncovered(name, specification) {
  const covered = new Set(readTests(name).map(({ section, row }) => `${section} | ${row}`));
  let chapter = '';
  let table = '';
  let inTable = false;
  const missing = [];
  for (const line of specification.split('\n')) {
    const [, number, title] = /^## (\d+)\. (.*)$/.exec(line) ?? [];
    if (number !== undefined) [chapter, table] = [number, title];
    const name = /^### ([^(]*?)\s*(\(|$)/.exec(line)?.[1];
    if (name !== undefined) table = name;
    if (!line.startsWith('|')) {
      inTable = false;
      continue;
    }
    // The head of a table and the rule below it are no rows.
    if (!inTable || /^\|[-|]+\|$/.test(line)) {
      inTable = true;
      continue;
    }
    const row = rowName(
      chapter,
      line
        .split('|')
        .slice(1, -1)
        .map((text) => text.replaceAll('`', '').trim()),
    );
    const key = `§${chapter} ${table} | ${row}`;
    if (!covered.has(key)) missing.push(key);
  }
  return missing;
}

/** A path, or a `data:` URL with the text itself. */
function readSpecification(file) {
  const [, text] = /^data:text\/plain,(.*)$/.exec(file) ?? [];
  return text === undefined ? readFileSync(file, 'utf8') : decodeURIComponent(text);
}

/** What a row is called: its first column; a transition is a state and a trigger, an endpoint a method and a path. */
function rowName(chapter, [first, second]) {
  if (chapter === '3') return `${first}, ${second}`;
  return chapter === '4' && /^[A-Z]+$/.test(first) ? `${first} ${second}` : first;
}

if (argv[1] === self) {
  const [, , option, name, file] = argv;
  const text = renderSpecCoverage();
  const faults = [
    ...(option === '--check' && readFileSync(page, 'utf8') !== text
      ? ['docs/internals/spec-coverage.md is not what the tests say: npm run generate']
      : []),
    ...(option === '--spec' ? uncovered(name, readSpecification(file)).map((row) => `no test for: ${row}`) : []),
  ];
  if (option === undefined) writeFileSync(page, text);
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
