/**
 * Compares the recipes of docs/internals/how-to with the source code. `scripts/how-to` also applies
 * the recipes in copies of the repository.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
/** Runs the check of the recipes, and returns the faults that it prints. */
const check = (...options: readonly string[]): string =>
  spawnSync(process.execPath, [join(repository, 'scripts/docs.d/how-to.js'), '--check', ...options], {
    encoding: 'utf8',
  }).stderr;

it('the recipes name files that exist, lines that exist in these files, and the right number of files', () => {
  expect(check()).toBe('');
});

it('all recipes are listed in docs/README.md', () => {
  const index = readFileSync(join(repository, 'docs/README.md'), 'utf8');
  const recipes = readdirSync(join(repository, 'docs/internals/how-to'));
  expect(recipes.length).toBeGreaterThan(5);
  expect(recipes.filter((name) => !index.includes(`(internals/how-to/${name})`))).toEqual([]);
});

it('each fault of a recipe that does not fit the source code is reported', () => {
  const pages = mkdtempSync(join(tmpdir(), 'rackless-recipes-'));
  const page = [
    'This changes **5 files**, see `packages/nowhere/x.ts`.',
    '## 1. `package.json`',
    '```diff\n   "name": "other",\n+  "x": 1,\n```',
    '## 2. `LICENSE`',
    '```diff\n+\n```',
    '## 3. `README.md` (new)',
    '```ts\nexport const a = 1;\n```',
    '## 4. `packages/daemon/package.json`',
    '```diff\n   "license": "Apache-2.0",\n```',
  ];
  writeFileSync(join(pages, 'odd.md'), page.join('\n\n'));
  const faults = check('--pages', pages);
  rmSync(pages, { recursive: true });
  expect(faults.match(/^odd: .*/gm)).toEqual([
    'odd: says 5 files, but changes 4',
    'odd: there is no packages/nowhere/x.ts',
    'odd: README.md is not new',
    'odd: package.json does not contain:',
    'odd: LICENSE contains more than once:',
    'odd: does not say what changes in packages/daemon/package.json',
  ]);
});
