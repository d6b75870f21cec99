/** The folders of the source code, and the architecture page about them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(repository, 'docs/internals/architecture.md'), 'utf8');

/** Maximum number of source files in a folder, without tests. */
const limit = 20;

function foldersBelow(folder: string): readonly string[] {
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [folder, ...below.flatMap(({ name }) => foldersBelow(join(folder, name)))];
}

const isSource = (name: string): boolean => name.endsWith('.ts') && !name.endsWith('.test.ts');

describe('the folders of the packages', () => {
  const folders = readdirSync(join(repository, 'packages')).flatMap((name) =>
    foldersBelow(join(repository, 'packages', name, 'src')),
  );

  it(`have at most ${limit} source files, unless the architecture page names them`, () => {
    const crowded = folders
      .filter((folder) => readdirSync(folder).filter(isSource).length > limit)
      .map((folder) => relative(repository, folder));
    expect(crowded.filter((folder) => !page.includes(folder))).toEqual([]);
  });
});

describe('docs/internals/architecture.md', () => {
  it('names only files and folders of packages that exist', () => {
    const named = [...page.matchAll(/`(packages\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });
});
