import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { PrivateLibvirtd } from './libvirtd.js';

const run = promisify(execFile);

/** What virsh prints, without the line feeds around it: the other client that these tests compare with. */
export async function virsh(daemon: PrivateLibvirtd, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run('virsh', ['-c', daemon.uri, ...args], { maxBuffer: 16_777_216 });
  return stdout.trim();
}
