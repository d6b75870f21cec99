/** Tests which files a command runs: its bundle, or the compiled files from which the bundle was made. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const folder = mkdtempSync(join(tmpdir(), 'rackless-bundle-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(['bmc-daemon', 'model-proxy', 'racklessctl'])('%s', (name) => {
  const at = (file: string): string => join(folder, name, file);
  const bin = `bin/${name}.js`;

  /** Writes a file whose modification time is this second. */
  function write(file: string, text: string, second: number): void {
    mkdirSync(dirname(at(file)), { recursive: true });
    writeFileSync(at(file), text);
    utimesSync(at(file), second, second);
  }
  const cli = (text: string): string => `export const main = async () => { console.log('${text}'); return 0; };`;
  const runs = (): string => execFileSync(process.execPath, [at(bin)], { encoding: 'utf8' }).trim();

  beforeEach(() => {
    rmSync(at('.'), { recursive: true, force: true });
    cpSync(join(repository, 'packages', name, bin), at(bin), { recursive: true });
    write('package.json', '{"type":"module"}', 1);
    write('dist/cli.js', cli('compiled files'), 10);
    write('dist/.tsbuildinfo', '', 10);
    cpSync(join(repository, 'scripts/bundle/start.js'), at('dist/bundle/start.js'));
    write('dist/bundle/cli.js', cli('bundle'), 20);
  });

  it('runs the bundle if the compiler ran before the bundler', () => {
    expect(runs()).toBe('bundle');
  });

  it('runs the compiled files if the compiler ran after the bundler', () => {
    write('dist/.tsbuildinfo', '', 30);
    expect(runs()).toBe('compiled files');
  });

  it('runs the compiled files if there is no bundle', () => {
    rmSync(at('dist/bundle'), { recursive: true });
    expect(runs()).toBe('compiled files');
  });

  it('runs the bundle if there is no dist/.tsbuildinfo, as in a package from npm', () => {
    rmSync(at('dist/.tsbuildinfo'));
    expect(runs()).toBe('bundle');
  });

  it('exits with 1 after an error in the bundle, and does not run the compiled files', () => {
    write('dist/bundle/cli.js', "import 'rackless-missing';", 20);
    const { status, stderr } = spawnSync(process.execPath, [at(bin)], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, expect.stringContaining('rackless-missing')]);
  });

  it('has a bundle that prints the same help as the compiled files', () => {
    const help = (file: string): string => {
      const url = join(repository, 'packages', name, 'dist', file);
      const code = `import('${url}').then(({ main }) => main(['node', '${name}', '--help'], {}))`;
      return execFileSync(process.execPath, ['--eval', code], { encoding: 'utf8' });
    };
    expect(help('bundle/cli.js')).toContain(name);
    expect(help('bundle/cli.js')).toBe(help('cli.js'));
  });
});
