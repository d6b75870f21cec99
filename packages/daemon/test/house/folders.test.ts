/** Compares the folders of the repository with the architecture page, and checks the numbers of the decisions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(repository, 'docs/internals/architecture.md'), 'utf8');

/** Maximum number of files in a folder. In `src`, the tests beside the sources do not count. */
const limit = 20;

/** Folders that a build, an installation or a tool makes. */
const generated = /^(node_modules|dist|dist-types|coverage|__pycache__|\..*)$/;

function foldersBelow(folder: string): readonly string[] {
  const below = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !generated.test(entry.name),
  );
  return [folder, ...below.flatMap(({ name }) => foldersBelow(join(folder, name)))];
}

function filesIn(folder: string): number {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const inSources = /^packages\/[^/]+\/src(\/|$)/.test(relative(repository, folder));
  return files.filter(({ name }) => !inSources || !name.endsWith('.test.ts')).length;
}

/** Returns the rows of the page's table of larger folders: path and reason. */
function excused(): ReadonlyMap<string, string> {
  const [, section = ''] = /\n### Folders with more than 20 files\n([^]*?)\n##/.exec(page) ?? [];
  return new Map(
    [...section.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)].map(([, path = '', reason = '']) => [path, reason]),
  );
}

describe(`the folders of packages, scripts and docs with more than ${limit} files`, () => {
  const larger = ['packages', 'scripts', 'docs']
    .flatMap((name) => foldersBelow(join(repository, name)))
    .filter((folder) => filesIn(folder) > limit)
    .map((folder) => relative(repository, folder));

  it('are those of the table in the architecture page', () => {
    expect(page).toContain('\n### Folders with more than 20 files\n');
    expect(larger.sort()).toEqual([...excused().keys()].sort());
  });

  it('have a reason in this table', () => {
    expect([...excused()].filter(([, reason]) => reason.trim().length < 10)).toEqual([]);
  });
});

describe('docs/internals/architecture.md', () => {
  it('names only files and folders of `packages` that exist', () => {
    const named = [...page.matchAll(/`(packages\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });
});

describe('the decisions', () => {
  it('have different numbers, and titles that begin with these numbers', () => {
    const folder = join(repository, 'docs/decisions');
    const files = readdirSync(folder).filter((name) => /^\d{3}-/.test(name));
    const numbers = files.map((name) => name.slice(0, 3));
    expect(numbers).toEqual([...new Set(numbers)]);
    const titles = files.map((name) => readFileSync(join(folder, name), 'utf8').slice(0, 7));
    expect(titles).toEqual(numbers.map((number) => `# ${number}. `));
  });
});
