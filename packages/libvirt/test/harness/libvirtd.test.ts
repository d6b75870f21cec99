import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from './libvirtd.js';

const run = promisify(execFile);

describe('private libvirtd', () => {
  let daemon: PrivateLibvirtd;
  beforeAll(async () => {
    daemon = await startLibvirtd({ driver: 'test' });
  });
  afterAll(() => daemon.stop());

  it('answers virsh', async () => {
    const { stdout } = await run('virsh', ['-c', daemon.uri, 'list', '--name']);
    expect(stdout.trim()).toBe('test');
  });

  it('has another process id after a restart', async () => {
    const before = daemon.pid;
    await daemon.stopDaemon();
    await daemon.start();
    expect(daemon.pid).not.toBe(before);
    const { stdout } = await run('virsh', ['-c', daemon.uri, 'list', '--name']);
    expect(stdout.trim()).toBe('test');
  });

  it('leaves no process and no folder behind', async () => {
    const other = await startLibvirtd({ driver: 'qemu' });
    await other.stop();
    expect(() => process.kill(other.pid, 0)).toThrow('ESRCH');
    await expect(access(other.dir)).rejects.toThrow('ENOENT');
  });
});
