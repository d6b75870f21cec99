import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../daemon/test/support/free-port.js';
import { waitFor } from '../harness/wait.js';

const run = promisify(execFile);
const start = join(import.meta.dirname, '../../../../scripts/start');

let running: ChildProcess | undefined;
afterEach(() => {
  // After a failed test, this ends the whole session, with the daemons.
  if (running?.pid !== undefined && running.exitCode === null && running.signalCode === null)
    process.kill(-running.pid, 'SIGTERM');
});

/** Returns the command lines of the processes with the given mark in their environment. */
function marked(mark: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)) return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')];
      } catch {
        // The process has ended since the folder was read, so it does not count.
        return [];
      }
    });
}

describe('scripts/start proxy', () => {
  it('serves a sample, prints 3 working commands, starts only once, and leaves no process after Ctrl-C', async () => {
    const port = await freePort();
    const mark = `RACKLESS_START_TEST=${port}`;
    const env = { ...process.env, RACKLESS_START_TEST: String(port) };
    const args = ['proxy', '--port', String(port)];
    // `detached` starts a session, like a terminal, so that Ctrl-C reaches all its processes.
    running = spawn(start, args, { cwd: tmpdir(), env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    running.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    running.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await waitFor(
      () => {
        if (running?.exitCode !== null) throw new Error(`it ended before it served:\n${output}`);
        return / {2}curl .*\/v1\/models\n/.test(output) ? true : undefined;
      },
      () => `it does not print its lines:\n${output}`,
      1_200_000,
    );
    const lines = output.split('\n').filter((line) => line.startsWith('  curl '));
    expect(lines).toHaveLength(3);
    const answers = await Promise.all(
      lines.map(async (line) => (await run('bash', ['-c', `${line} --fail-with-body --silent --show-error`])).stdout),
    );
    expect(answers[0]).toContain('"model":"hosted_vllm/sample-model","object":"chat.completion"');
    expect(answers[0]).toContain('"content":"You said: Hello, is anybody there?"');
    expect(answers[1]?.split('\n\n').at(-2)).toBe('data: [DONE]');
    expect(JSON.parse(answers[2] ?? '')).toEqual({
      data: [{ id: 'sample', object: 'model', created: 1_677_610_602, owned_by: 'openai' }],
      object: 'list',
    });

    const second = await run(start, args, { cwd: tmpdir(), env });
    expect(second.stdout).toContain(`model-proxy is already running at http://127.0.0.1:${port} `);
    expect(second.stdout.split('\n').filter((line) => line.startsWith('  curl '))).toEqual(lines);

    expect(marked(mark).filter((line) => /model-proxy\.js|sample-upstream/.test(line))).toHaveLength(2);
    const ended = once(running, 'close');
    process.kill(-(running.pid ?? 0), 'SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(marked(mark)).toEqual([]);
  }, 1_800_000);
});
