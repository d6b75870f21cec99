/** The generated pages of racklessctl, and what its package installs. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { manualPages } from '../../src/cli/manual.js';
import { runnableCommands } from '../../src/cli/options.js';
import { renderReference } from '../../src/cli/reference.js';
import { commands } from '../../src/commands/index.js';
import { readRepositoryFile } from '../support/bmc.js';

const folder = join(import.meta.dirname, '../..');
const pages = manualPages(commands);

describe('docs/reference/racklessctl.md', () => {
  it('matches the commands; npm run generate updates it', () => {
    expect(readRepositoryFile('docs/reference/racklessctl.md')).toBe(renderReference(commands));
  });
});

describe('the man pages', () => {
  it('match the commands; npm run generate updates them', () => {
    const files = readdirSync(join(folder, 'man'));
    expect(Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, 'man', name), 'utf8')]))).toEqual(
      pages,
    );
  });

  it('are installed with the package', () => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly man: readonly string[];
    };
    expect([...manifest.man].sort()).toEqual(
      Object.keys(pages)
        .map((name) => `./man/${name}`)
        .sort(),
    );
  });

  it.each(Object.keys(pages))('cause no warning of groff, and contain all options: %s', (name) => {
    const input = pages[name] ?? '';
    const { status, stdout, stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-rLL=200n', '-P-cbou'], {
      input,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const command = commands.find((each) => `racklessctl-${each.name}.1` === name);
    const shown = stdout.replace(/\s+/g, ' ').replaceAll('‐', '-');
    const options =
      command === undefined ? [] : runnableCommands(command).flatMap(({ definition }) => definition.options ?? []);
    expect(options.filter((option) => !shown.includes(`--${option.name}`))).toEqual([]);
  });
});

describe('a summary of a command or an option', () => {
  it('is one line of at most 120 characters without a period at its end', () => {
    const runnable = commands.flatMap((command) => runnableCommands(command)).map(({ definition }) => definition);
    const texts = [...commands, ...runnable].flatMap((each) => [
      each.summary,
      ...(each.options ?? []).map(({ summary }) => summary),
      ...(each.arguments ?? []).map(({ summary }) => summary),
    ]);
    expect(texts.filter((text) => /\n|\.$/.test(text) || text.length > 120)).toEqual([]);
  });
});
