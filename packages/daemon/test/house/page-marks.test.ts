/**
 * Tests the check of marks: comments before a block of commands, such as `<!-- not run: a reason -->`.
 * Without the check, `scripts/docs-commands` would run a block whose mark is misspelled.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-page-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns the faults of a page with these lines, each as `line: text`. */
function faultsOf(lines: readonly string[]): readonly string[] {
  const page = join(folder, 'page.md');
  writeFileSync(page, `${lines.join('\n')}\n`);
  const command = [join(repository, 'scripts/docs.d/main.js'), '--check', page];
  const { stdout, stderr, status } = spawnSync(process.execPath, command, { cwd: repository, encoding: 'utf8' });
  expect(stderr).toBe('');
  const faults = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(`${page}:`, ''));
  expect(status).toBe(faults.length === 0 ? 0 : 1);
  return faults;
}

const block = ['', '```sh', 'true', '```', ''];

it('the check accepts a known mark, also on two lines, and other comments that are not directly before a block', () => {
  const page = [
    '<!-- commands: clone -->',
    '# Page',
    '<!-- written by hand -->',
    'Text',
    '',
    '<!-- not run: a',
    'reason -->',
  ];
  expect(faultsOf([...page, ...block])).toEqual([]);
});

it.each([
  ['<!-- not run here: a reason -->', 'is no known mark'],
  ['<!-- not  run: a reason -->', 'is no known mark'],
  ['<!-- not run: -->', 'is no known mark'],
  ['<!--not run: a reason-->', 'is no known mark'],
  ['<!-- Not run: a reason -->', 'is no known mark'],
  ['<!-- not run: a reason --> <!-- run by: scripts/test -->', 'is no known mark'],
  ['<!-- run by scripts/test -->', 'is no known mark'],
])('the check reports %s before a block', (mark, reason) => {
  expect(faultsOf(['# Page', '', mark, ...block])).toEqual([`3: ${mark} ${reason} (see scripts/docs-commands --help)`]);
});

it('the check reports a mark that is not directly before a block', () => {
  expect(faultsOf(['# Page', '', '<!-- not run: a reason -->', '', 'Text:', ...block])).toEqual([
    '3: <!-- not run: a reason --> is not directly before a block',
  ]);
});
