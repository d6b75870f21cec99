/** Tests that concurrent builds of guest images do not disturb each other. */
import { execFile } from 'node:child_process';
import { access, chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '../daemon/process.js';
import { guestImage } from './guest-image.js';

const run = promisify(execFile);
const scripts = fileURLToPath(new URL('../../../../scripts/guests/', import.meta.url));
const label = 'TWO-BUILDS';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guest-image-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Adds a program to a folder that is first in the PATH of a script. */
async function program(bin: string, name: string, script: string): Promise<void> {
  await writeFile(join(bin, name), `#!/bin/bash\nset -eu\n${script}\n`);
  await chmod(join(bin, name), 0o755);
}

/** Returns an environment whose PATH begins with a new folder of programs. */
async function programs(name: string, all: Readonly<Record<string, string>>): Promise<NodeJS.ProcessEnv> {
  const bin = join(folder, name);
  await mkdir(bin);
  for (const [each, script] of Object.entries(all)) await program(bin, each, script);
  return { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
}

describe('two builds of the same image at once', () => {
  it('keep the image of the faster build for its user', async () => {
    const [reached, go, missing] = [join(folder, 'reached'), join(folder, 'go'), join(folder, 'missing')];
    const env = await programs('slow', {
      // The first call of the slow build waits until the fast build is complete.
      'grub-mkimage': `touch ${reached}; until [ -e ${go} ]; do sleep 0.05; done; exec /usr/bin/grub-mkimage "$@"`,
      // The last argument is the cached image, which a user of the fast build may open at any time.
      mv: `[ -e "\${@: -1}" ] || touch ${missing}; exec /bin/mv "$@"`,
    });
    const slow = run(join(scripts, 'build-guest'), ['--kind', 'disk', '--grub', '--label', label], { env });
    let outcome = 'it still runs';
    const ended = slow.then(
      ({ stderr }) => (outcome = stderr),
      (error: unknown) => (outcome = String(error)),
    );
    try {
      const isReached = async () => ((await exists(reached)) ? true : undefined);
      await waitFor(isReached, () => `the slow build has not called grub-mkimage: ${outcome}`, ended);
      const path = await guestImage({ kind: 'disk', system: 'grub', label });
      await writeFile(go, '');
      expect((await slow).stdout.trim()).toBe(path);
      expect([await exists(path), await exists(missing)]).toEqual([true, false]);
      await rm(path);
    } finally {
      await writeFile(go, '');
      await ended;
    }
  });
});

describe('two requests for a kernel at once', () => {
  it('fetch it only once', async () => {
    const log = join(folder, 'fetched');
    const env = await programs('apt', {
      'apt-cache': `[ "$3" = linux-image-cloud-amd64 ] && echo ' Depends: linux-image-6.1-cloud' || true`,
      'apt-get': `echo "$*" >> ${log}; sleep 0.3; touch linux.deb`,
      'dpkg-deb': `mkdir -p "$3"/boot "$3"/lib/modules/6.1-cloud/kernel; touch "$3"/boot/vmlinuz-6.1-cloud`,
    });
    const tree = join(folder, 'tree');
    await mkdir(join(tree, 'scripts/guests'), { recursive: true });
    const script = join(tree, 'scripts/guests/kernel');
    await copyFile(join(scripts, 'kernel'), script);
    const printed = await Promise.all([1, 2, 3].map(async () => (await run(script, [], { env })).stdout.trim()));
    expect(new Set(printed)).toEqual(new Set([join(tree, '.cache/guests/kernel-6.1-cloud')]));
    expect((await readFile(log, 'utf8')).trim().split('\n')).toEqual(['-q download linux-image-6.1-cloud']);
  });
});

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
