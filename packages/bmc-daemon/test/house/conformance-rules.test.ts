/** Compares docs/internals/conformance-rules.md with the tests that it names. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const folder = join(repository, 'packages/bmc-daemon');
const page = readFileSync(join(repository, 'docs/internals/conformance-rules.md'), 'utf8');

/** The file, the group and the test of each row. */
const rows = [...page.matchAll(/^\| (?!Rule |---)(.+) \| (\S+\.ts) \| (.+) › (.+) \|$/gm)].map(
  ([, rule = '', file = '', group = '', title = '']) => ({ rule, file, group, title }),
);

/** Returns the text of a file, with unescaped quotes, so that its titles are as on the page. */
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8').replaceAll("\\'", "'");

describe('docs/internals/conformance-rules.md', () => {
  it('has only rows with a rule, a file, a group and a title', () => {
    expect(rows.length).toBe([...page.matchAll(/^\| (?!Rule |---)/gm)].length);
    expect(rows.length).toBeGreaterThan(80);
  });

  it('names existing tests, each after the heading of its group', () => {
    const missing = rows.filter(({ file, group, title }) => {
      const text = existsSync(join(folder, file)) ? textOf(file) : '';
      const begin = text.indexOf(group);
      return begin === -1 || !text.includes(title, begin);
    });
    expect(missing).toEqual([]);
  });

  it('has a row for every test in `test/contract/*-rules.test.ts`', () => {
    const files = readdirSync(join(folder, 'test/contract')).filter((file) => file.endsWith('-rules.test.ts'));
    expect(files).toHaveLength(6);
    for (const file of files) {
      const path = `test/contract/${file}`;
      const titles = [...textOf(path).matchAll(/(?:\bit|\))\(\s*'([^'\n]+)', /g)].map(([, title = '']) => title);
      expect(titles.length).toBeGreaterThan(3);
      const listed = rows.filter((row) => row.file === path).map(({ title }) => title);
      // The first title is that of a test of the crawl itself, and `%s` is the title of a suite.
      const withoutRow = new Set([
        'comes from a crawl of more than 100 resources, with actions and list members',
        '%s',
      ]);
      expect(
        titles.filter((title) => !withoutRow.has(title) && !listed.some((prefix) => title.startsWith(prefix))),
      ).toEqual([]);
    }
  });
});
