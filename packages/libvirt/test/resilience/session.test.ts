import { readFileSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../fake/until.js';
import { compilePrograms, type CompiledPrograms, type RunOptions } from '../harness/program.js';

/** The account that starts libvirtd if the tests run as root, because a libvirtd of root is the system daemon. */
const UNPRIVILEGED_ID = 65_534;

let programs: CompiledPrograms;
let home: string;
let options: RunOptions;
beforeAll(async () => {
  programs = await compilePrograms('resilience');
  home = await mkdtemp(join(tmpdir(), 'rackless-session-'));
  options = { env: { HOME: home, XDG_RUNTIME_DIR: home, XDG_CACHE_HOME: home, XDG_CONFIG_HOME: home } };
  if (process.getuid?.() !== 0) return;
  await chown(home, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
  options = { ...options, uid: UNPRIVILEGED_ID };
});
afterAll(async () => {
  await programs.remove();
  await rm(home, { recursive: true, force: true });
});

/**
 * Returns whether a process runs. A zombie has ended: in some containers, process 1 never reaps the
 * processes that it inherits.
 */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false; // ENOENT or ESRCH: the process has exited.
  }
}

describe('qemu:///session', () => {
  it('starts the user’s own libvirtd if there is none, and uses it the next time', async () => {
    const reached = { type: 'QEMU', uri: 'qemu:///session' };
    expect(JSON.parse(await programs.run('session', ['qemu:///session'], options).output)).toEqual(reached);
    const pidFile = join(home, 'libvirt', 'libvirtd.pid');
    const pid = Number(await readFile(pidFile, 'utf8'));
    try {
      expect(JSON.parse(await programs.run('session', ['qemu:///session'], options).output)).toEqual(reached);
      expect(Number(await readFile(pidFile, 'utf8'))).toBe(pid);
    } finally {
      process.kill(pid, 'SIGTERM');
      await until('the user’s libvirtd to end', () => !isRunning(pid));
    }
  });
});
