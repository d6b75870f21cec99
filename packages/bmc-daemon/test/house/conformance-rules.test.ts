/** docs/internals/conformance-rules.md names tests that there are, and every file of rules stands in it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const folder = join(repository, 'packages/bmc-daemon');
const page = readFileSync(join(repository, 'docs/internals/conformance-rules.md'), 'utf8');

/** File and test of each row. */
const rows = [...page.matchAll(/^\| (?!Rule |---)(.+) \| (\S+\.ts) \| (.+) \|$/gm)].map(
  ([, rule = '', file = '', title = '']) => ({ rule, file, title }),
);

/** What titles a file has, however they are quoted. */
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8').replaceAll("\\'", "'");

describe('docs/internals/conformance-rules.md', () => {
  it('has a row for each rule that is one, and none that can not be read', () => {
    expect(rows.length).toBe([...page.matchAll(/^\| (?!Rule |---)/gm)].length);
    expect(rows.length).toBeGreaterThan(80);
  });

  it('names tests that there are', () => {
    const missing = rows.filter(({ file, title }) => !existsSync(join(folder, file)) || !textOf(file).includes(title));
    expect(missing).toEqual([]);
  });

  it('has a row for every test of the files of rules', () => {
    const files = readdirSync(join(folder, 'test/contract')).filter((file) => file.endsWith('-rules.test.ts'));
    expect(files).toHaveLength(6);
    for (const file of files) {
      const path = `test/contract/${file}`;
      const titles = [...textOf(path).matchAll(/(?:\bit|\))\(\s*'([^'\n]+)', /g)].map(([, title = '']) => title);
      expect(titles.length).toBeGreaterThan(3);
      const told = rows.filter((row) => row.file === path).map(({ title }) => title);
      const own = new Set(['has something in it to look at', '%s']);
      expect(titles.filter((title) => !own.has(title) && !told.some((one) => title.startsWith(one)))).toEqual([]);
    }
  });
});
