/**
 * The titles of tests. A title continues the name of its suite, so it begins with its verb. A title
 * that begins with "of" or "that" hides the verb at its end.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../../..');
const TITLE = /(?:\b(?:it|test)(?:\.\w+)*|[\])>])\(\s*(['"`])((?:of|that|whose|where) .*?)\1,/g;

const unclearTitles = (text: string): readonly string[] =>
  Array.from(text.matchAll(TITLE), ([, , title = '']) => title);

it('begin with a verb', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.test.ts'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));
  expect(files.length).toBeGreaterThan(400);
  const unclear = files.flatMap((file) =>
    unclearTitles(readFileSync(join(root, file), 'utf8')).map((title) => `${file}: ${title}`),
  );
  expect(unclear).toEqual([]);
});

it.each(['of', 'that', 'whose', 'where'])('do not begin with "%s", in plain tests and behind tables', (word) => {
  const text = [
    `it('${word} a run ends', test);`,
    `it.concurrent('starts', test);`,
    `])(\n  "${word} is %s ends",\n  test);`,
    `it.each([1])('${word} it is %i', test);`,
  ].join('\n');
  expect(unclearTitles(text)).toEqual([`${word} a run ends`, `${word} is %s ends`, `${word} it is %i`]);
});
