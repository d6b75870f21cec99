import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../../..');

/**
 * Reads the files of the repository, also new files, except those that git ignores.
 * @param patterns as git expects them: `*.test.ts`.
 * @returns path from the root → text.
 */
export function repositoryFiles(...patterns: readonly string[]): ReadonlyMap<string, string> {
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((name) => name !== '' && existsSync(join(root, name)));
  return new Map(names.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
}
