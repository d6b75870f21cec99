import { execFile } from 'node:child_process';
import { access, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from './libvirtd.js';
import { startNetworkLibvirtd } from './network-libvirtd.js';

const run = promisify(execFile);

describe('a private libvirtd', () => {
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

  it('leaves no process and no folder behind after its stop', async () => {
    const other = await startLibvirtd({ driver: 'qemu' });
    await other.stop();
    expect(() => process.kill(other.pid, 0)).toThrow('ESRCH');
    await expect(access(other.dir)).rejects.toThrow('ENOENT');
  });

  it('leaves no folder of certificates behind if it cannot start', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'rackless-parent-'));
    const { TMPDIR } = process.env;
    try {
      process.env['TMPDIR'] = parent;
      const starting = startNetworkLibvirtd({ driver: 'test', names: ['nonsense'] });
      await expect(starting).rejects.toThrow();
      expect(await readdir(parent)).toEqual([]);
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = TMPDIR;
      await rm(parent, { recursive: true });
    }
  });
});
