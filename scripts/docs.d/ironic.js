/** Starts a real Ironic at http://127.0.0.1:6385 for a page, but only if scripts/clients runs the page. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export async function startIronic({ repository, log, script }) {
  if (script !== 'scripts/clients') return;
  const folder = join(log, 'ironic');
  mkdirSync(folder);
  const errors = openSync(join(folder, 'errors'), 'w');
  const server = spawn('/usr/bin/python3', ['-B', '-m', 'ironic_steps.serve', folder], {
    cwd: join(repository, 'scripts/clients.d'),
    stdio: ['pipe', 'pipe', errors],
  });
  // The server prints a line when Ironic answers. The server ends when this process closes the pipe to it.
  const ended = once(server, 'exit').then(() => true);
  if (await Promise.race([once(server.stdout, 'data').then(() => false), ended]))
    throw new Error(`Ironic: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
}
