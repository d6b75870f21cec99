import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, jest } from '@jest/globals';
import * as exported from '../../src/index.js';
import { startLibvirtd } from '../harness/libvirtd.js';

const run = promisify(execFile);
const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

describe('the README', () => {
  it('begins with an example of at most 18 lines, which runs and prints two events', async () => {
    const readme = await readFile(pathOf('README.md'), 'utf8');
    const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
    expect(example.split('\n').length).toBeLessThanOrEqual(18);
    expect(readme.indexOf(example)).toBeLessThan(500);

    const daemon = await startLibvirtd({ driver: 'test' });
    const directory = await mkdtemp(join(tmpdir(), 'rackless-readme-'));
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    try {
      expect(example.split("'test:///default'")).toHaveLength(2);
      const file = join(directory, 'example.ts');
      await writeFile(file, example.replace('test:///default', daemon.uri));
      await import(file);
      expect(log.mock.calls).toEqual([
        ['test', exported.DomainEventType.STOPPED],
        ['test', exported.DomainEventType.STARTED],
      ]);
    } finally {
      log.mockRestore();
      await rm(directory, { recursive: true });
      await daemon.stop();
    }
  });

  it('lists every kind of event and every client error', async () => {
    const readme = await readFile(pathOf('README.md'), 'utf8');
    const api = await readFile(pathOf('API.md'), 'utf8');
    const kinds = [
      ...(/interface DomainEventMap \{[\s\S]*?\n\}/.exec(api)?.[0] ?? '').matchAll(/^ {2}readonly (\w+):/gm),
    ];
    const errors = [...(/type ClientErrorCode =[\s\S]*?;/.exec(api)?.[0] ?? '').matchAll(/'(\w+)'/g)];
    expect([kinds.length, errors.length]).toEqual([12, 8]);
    for (const [, name = ''] of [...kinds, ...errors]) expect(readme).toContain(`\`${name}\``);
  });
});

describe('the npm package', () => {
  it('contains only the documents, the license, package.json and the compiled client', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: pathOf('.') });
    const [{ files }] = JSON.parse(stdout) as [{ files: readonly { readonly path: string }[] }];
    const paths = files.map(({ path }) => path);
    expect(paths.filter((path) => !path.startsWith('dist/')).sort()).toEqual([
      'API.md',
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    // `dist` may be missing here: `npm run packages` checks that the client was compiled.
    expect(paths.filter((path) => path.startsWith('dist/') && !/\.(js|js\.map|d\.ts)$/.test(path))).toEqual([]);
  });
});

describe('the API page', () => {
  it('is what scripts/api-page.js makes from the docstrings', async () => {
    await run(process.execPath, [pathOf('scripts/api-page.js'), '--check']);
  });

  it('lists every exported value', async () => {
    const api = await readFile(pathOf('API.md'), 'utf8');
    const missing = Object.keys(exported).filter(
      (name) => !api.includes(`### ${name}\n`) && !api.includes(`- **${name}**`) && !api.includes(`- \`${name}(`),
    );
    expect(missing).toEqual([]);
    expect(Object.keys(exported).length).toBeGreaterThan(50);
  });
});
