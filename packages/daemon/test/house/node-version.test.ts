import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'acorn';

const run = promisify(execFile);
const packages = join(import.meta.dirname, '../../..');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-node-version-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs `--version` of a command. Its Node reports the given version. Returns the exit code and standard error. */
async function runAs(version: string, bin: string): Promise<{ readonly code: unknown; readonly stderr: string }> {
  const preload = join(folder, 'version.cjs');
  await writeFile(preload, `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });`);
  try {
    const { stderr } = await run(process.execPath, ['--require', preload, bin, '--version']);
    return { code: 0, stderr };
  } catch (error) {
    // `execFile` rejects with an Error that has both members.
    const { code, stderr } = error as { readonly code: unknown; readonly stderr: string };
    return { code, stderr };
  }
}

describe.each(['bmc-daemon', 'model-proxy', 'racklessctl'])('%s', (name) => {
  const bin = join(packages, name, 'bin', `${name}.js`);

  it.each(['10.19.0', '12.22.12', '18.20.4', '20.18.1'])(
    'refuses Node %s with exit code 78, and says which version it needs',
    async (version) => {
      const { code, stderr } = await runAs(version, bin);
      expect({ code, stderr }).toEqual({
        code: 78,
        stderr:
          `${name} needs Node 20.19 or newer. This is Node ${version} (${process.execPath}).\n` +
          `In a clone of the repository: run scripts/start setup, then use bin/${name} there.\n`,
      });
    },
  );

  it.each(['20.19.0', '22.0.0', '24.21.0'])('accepts Node %s', async (version) => {
    expect(await runAs(version, bin)).toEqual({ code: 0, stderr: '' });
  });

  it('requires Node 20.19 or newer in its package.json too', async () => {
    const manifest = JSON.parse(await readFile(join(packages, name, 'package.json'), 'utf8')) as {
      readonly engines: { readonly node: string };
    };
    expect(manifest.engines.node).toBe('>=20.19');
  });

  it('has a first file that Node 10 can parse', async () => {
    // Node 10 supports ES2018. It also supports `import()`, which ES2018 lacks, so the test replaces it.
    const code = (await readFile(bin, 'utf8')).replaceAll('import(', 'load(');
    expect(() => parse(code, { ecmaVersion: 2018, sourceType: 'script', allowHashBang: true })).not.toThrow();
  });
});
