import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const unitOf = (name: string) => join(import.meta.dirname, `../../../${name}/${name}.service`);

/** systemd-analyze exits 0 on an unknown key and only says so: what it prints is what counts. */
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
  it('gives systemd-analyze nothing to complain about (H5, C14)', async () => {
    // A folder's owner and mode, where the repository lies, are none of the unit's business.
    const copy = join(folder, `${name}.service`);
    await copyFile(unitOf(name), copy);
    expect(await verify(copy)).toBe('');
  });

  it('exposes less than systemd calls MEDIUM (H5, C14)', async () => {
    // Exits 1, and so rejects, when the exposure is above the threshold (in tenths).
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--threshold=30', unitOf(name)]);
    expect(stdout).toContain(`Overall exposure level for ${name}.service`);
  });

  it("lets Node ask for the machine's addresses (H5, C14)", async () => {
    // getifaddrs(3) speaks netlink.
    expect(await readFile(unitOf(name), 'utf8')).toMatch(/^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
  });
});

describe('the check of the units', () => {
  it('sees a mistake (H5)', async () => {
    const wrong = join(folder, 'wrong.service');
    await writeFile(wrong, '[Service]\nType=notify\nNotifyAcess=all\nExecStart=/bin/true\n');
    expect(await verify(wrong)).toMatch(/Unknown key.*'NotifyAcess'/);
  });
});
