/** Compares docs/guides/clients.md with scripts/clients.d, which runs what the page says. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(repository, 'docs/guides/clients.md'), 'utf8');
const folder = join(repository, 'scripts/clients.d');
const clients = readdirSync(folder)
  .filter((name) => name.endsWith('.py'))
  .map((name) => readFileSync(join(folder, name), 'utf8'))
  .join('\n');

/** Names of code blocks: the word after the language, as in "```sh NAME". */
const named = [...page.matchAll(/^ *```\w+ (\S+)$/gm)].map((match) => match[1]);

describe('docs/guides/clients.md', () => {
  it('has each named block once, and scripts/clients.d runs each of them', () => {
    expect(named).toEqual([...new Set(named)]);
    const run = [
      ...clients.matchAll(/(?:block|commands|run_block)\((?:lab\.steps, NAME, |self\.lab\.steps, NAME, )?'([\w.-]+)'/g),
    ];
    expect([...new Set(run.map((match) => match[1]))].sort()).toEqual([...named].sort());
  });

  it('lists every client that scripts/clients runs, and separately three clients that it does not run', () => {
    const known = /^CLIENTS = \((.*)\)$/m.exec(clients)?.[1] ?? '';
    const names = [...known.matchAll(/'(\w+)'/g)].map((match) => (match[1] ?? '').toLowerCase());
    const [tried = '', notRun = ''] = page.split(/^# Not run here$/m);
    expect(names).toHaveLength(9);
    for (const name of names) expect(tried.toLowerCase()).toContain(`\n## ${name}`);
    for (const name of ['Metal3', 'OpenShift', 'MAAS']) {
      expect(notRun).toContain(`\n## ${name}\n`);
      expect(tried).not.toContain(`\n## ${name}\n`);
    }
  });
});
