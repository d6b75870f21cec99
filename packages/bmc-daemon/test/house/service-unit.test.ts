import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const unit = join(import.meta.dirname, '../../bmc-daemon.service');

/** systemd-analyze exits 0 on an unknown key and only says so: what it prints is what counts. */
async function verify(path: string): Promise<string> {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', path]);
  return stdout + stderr;
}

describe('bmc-daemon.service', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rackless-unit-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('gives systemd-analyze nothing to complain about (H5)', async () => {
    const copy = join(folder, 'bmc-daemon.service');
    await copyFile(unit, copy);
    expect(await verify(copy)).toBe('');
  });

  it('is checked by a tool that does see a mistake (H5)', async () => {
    const wrong = join(folder, 'wrong.service');
    await writeFile(wrong, '[Service]\nType=notify\nNotifyAcess=all\nExecStart=/bin/true\n');
    expect(await verify(wrong)).toMatch(/Unknown key.*'NotifyAcess'/);
  });

  it('exposes less than systemd calls MEDIUM (H5)', async () => {
    // Exits 1, and so rejects, when the exposure is above the threshold (in tenths).
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--threshold=30', unit]);
    expect(stdout).toContain('Overall exposure level for bmc-daemon.service');
  });
});
