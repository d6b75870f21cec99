import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { PrivateLibvirtd } from './libvirtd.js';

const run = promisify(execFile);

/** Runs virsh and returns its output, trimmed. Tests compare our client's results with it. */
export async function virsh(daemon: PrivateLibvirtd, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run('virsh', ['-c', daemon.uri, ...args], { maxBuffer: 16_777_216 });
  return stdout.trim();
}
