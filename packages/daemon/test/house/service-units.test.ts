import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const unitOf = (name: string) => join(import.meta.dirname, `../../../${name}/${name}.service`);

/** Returns the warnings of systemd-analyze. Its exit code is 0 even for an unknown key. */
async function verify(path: string): Promise<string> {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', path]);
  return stdout + stderr;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-unit-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(['bmc-daemon', 'model-proxy'])('%s.service', (name) => {
  it('passes systemd-analyze verify without a warning', async () => {
    // This test verifies a copy, because systemd-analyze also warns about the owner and mode of the unit's folder.
    const copy = join(folder, `${name}.service`);
    await copyFile(unitOf(name), copy);
    expect(await verify(copy)).toBe('');
  });

  it('has an exposure level of at most 3.0', async () => {
    // The command exits with 1 if the exposure is above the threshold, which is in tenths.
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--threshold=30', unitOf(name)]);
    expect(stdout).toContain(`Overall exposure level for ${name}.service`);
  });

  it('lets Node list the addresses of the host', async () => {
    // Node lists the addresses with getifaddrs(3), which uses netlink.
    expect(await readFile(unitOf(name), 'utf8')).toMatch(/^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
  });
});

describe('the check of the units', () => {
  it('finds an unknown key', async () => {
    const wrong = join(folder, 'wrong.service');
    await writeFile(wrong, '[Service]\nType=notify\nNotifyAcess=all\nExecStart=/bin/true\n');
    expect(await verify(wrong)).toMatch(/Unknown key.*'NotifyAcess'/);
  });
});
