/**
 * The workflows in .github run scripts/test-*, clients, conformance and how-to. The scripts and the `packages/…`
 * paths of their one-line `run: … bash scripts/…` commands exist.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const folder = join(repository, '.github/workflows');
const workflows = readdirSync(folder)
  .map((name) => readFileSync(join(folder, name), 'utf8'))
  .join('\n');
const commands = [...workflows.matchAll(/run: .*\bbash ((?:scripts|\.ci)\/[\w-]+)(.*)$/gm)].map(
  ([, script = '', words = '']) => ({ script, words: words.trim().split(' ') }),
);

describe('the workflows', () => {
  it('run scripts that exist, with `packages/…` paths that exist', () => {
    expect(commands.length).toBeGreaterThan(8);
    expect(commands.filter(({ script }) => !existsSync(join(repository, script)))).toEqual([]);
    const paths = commands.flatMap(({ words }) => words.filter((word) => word.startsWith('packages/')));
    // A path may be the beginning of a file name: jest runs all files whose path contains this text.
    const missing = paths.filter((path) => {
      const parent = join(repository, path, '..');
      return !existsSync(parent) || !readdirSync(parent).some((name) => name.startsWith(path.split('/').at(-1) ?? ''));
    });
    expect(missing).toEqual([]);
  });

  it('run each of scripts/test-*, clients, conformance and how-to', () => {
    const scripts = readdirSync(join(repository, 'scripts')).filter((name) =>
      /^(test-|clients$|conformance$|how-to$)/.test(name),
    );
    const run = new Set(commands.map(({ script }) => script));
    expect(scripts.filter((name) => !run.has(`scripts/${name}`))).toEqual([]);
  });
});
