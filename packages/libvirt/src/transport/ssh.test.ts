import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { failureOf, until } from '../../test/fake/until.js';
import { Hypervisor } from '../index.js';

// Shell scripts replace ssh, because a real ssh has the faults of these tests only sometimes.
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rackless-ssh-'));
});
afterEach(() => rm(dir, { recursive: true }));

/** Returns a URI whose ssh is this script. The script first writes its process id to the file `pid`. */
async function uriOf(script: string): Promise<string> {
  const command = join(dir, 'ssh');
  const pid = join(dir, 'pid');
  await writeFile(command, `#!/bin/sh\necho $$ >${pid}.part; mv ${pid}.part ${pid}\n${script}\n`, { mode: 0o755 });
  return `test+ssh://host/default?command=${command}`;
}

/** Waits until the process whose id is in this file has ended. @throws {Error} after two minutes. */
async function processEnds(name: string): Promise<void> {
  const pid = (await readFile(join(dir, name), 'utf8')).trim();
  // A process that has ended but was not reaped is still in /proc.
  await until('the process to end', () => !existsSync(`/proc/${pid}`));
}

const limits = { connectTimeoutMs: 240_000, callTimeoutMs: 240_000 };

describe('an ssh client', () => {
  it.each([
    [
      'ends',
      'echo "Permission denied (publickey)." >&2; exit 255',
      'ended with exit code 255: Permission denied (publickey).',
    ],
    ['dies', 'kill -9 $$', 'ended with SIGKILL'],
    ['prints control characters', `printf 'a\\033[31m\\r\\nb' >&2; exit 1`, 'ended with exit code 1: a [31m b'],
    [
      'prints a banner',
      'echo "Welcome to host"; exec sleep 1000',
      'the remote host printed "Welcome to host" before the first message of libvirtd; ' +
        'its shell must print nothing for commands over ssh',
    ],
    [
      'prints a banner together with the first message',
      `printf 'Welcome to host\\n\\000\\000\\000\\044 abc'; exec sleep 1000`,
      'the remote host printed "Welcome to host" before',
    ],
    ['sends a huge length', `printf '\\002\\000\\000\\001'; exec sleep 1000`, 'message of 33554433 bytes'],
    ['sends a short length', `printf '\\000\\000\\000\\004'; exec sleep 1000`, 'message of 4 bytes'],
    ['closes its output', 'exec >&- 2>&-; exec sleep 1000', 'closed the connection'],
  ])('fails the connection with the reason, and leaves no process, if it %s', async (_, script, why) => {
    const uri = await uriOf(script);
    const error = await failureOf(Hypervisor.open(uri, limits));
    expect(error).toMatchObject({ code: 'NOT_CONNECTED' });
    expect(String(error)).toContain(why);
    await processEnds('pid');
  });

  it('is reported with only its last messages if it prints many', async () => {
    const error = await failureOf(
      Hypervisor.open(await uriOf('yes noise | head -c 3000000 >&2; echo last >&2; exit 3')),
    );
    expect(String(error)).toMatch(/ended with exit code 3: .*noise last$/);
    expect(String(error).length).toBeLessThan(2_000);
  });

  it('is reported with the parameter `command` of the URI if it cannot be started', async () => {
    const error = await failureOf(Hypervisor.open('test+ssh://host/default?command=/nonexistent/ssh'));
    expect(error).toMatchObject({ code: 'NOT_CONNECTED' });
    expect(String(error)).toContain(
      'parameter "command": /nonexistent/ssh cannot be started: spawn /nonexistent/ssh ENOENT',
    );
  });

  it('is killed by close, with its child processes, if it hangs, and a second attempt to connect times out', async () => {
    const uri = await uriOf(`trap '' TERM; sleep 1000 & echo $! >${join(dir, 'child')}; while :; do wait; done`);
    const hypervisor = Hypervisor.connect(uri, { connectTimeoutMs: 240_000 });
    await until('both processes', () => existsSync(join(dir, 'child')) && existsSync(join(dir, 'pid')));
    await hypervisor.close();
    await processEnds('pid');
    await processEnds('child');

    const error = await failureOf(Hypervisor.open(uri, { connectTimeoutMs: 500 }));
    expect(String(error)).toContain('no answer within 500 ms');
  });

  it('has no terminal, so it cannot ask for a password', async () => {
    const uri = await uriOf('if (: </dev/tty) 2>/dev/null; then echo terminal >&2; else echo none >&2; fi; exit 1');
    expect(String(await failureOf(Hypervisor.open(uri)))).toMatch(/: none$/);
  });
});
