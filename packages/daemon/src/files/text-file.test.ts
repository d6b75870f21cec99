import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTextFile } from './text-file.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'text-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const inFolder = (name: string) => join(folder, name);

describe('a text file', () => {
  it('is read whole in UTF-8 or UTF-16, without its byte order mark', () => {
    writeFileSync(inFolder('a'), '\ufeffé 漢');
    expect(readTextFile(inFolder('a'))).toBe('é 漢');
    writeFileSync(inFolder('le'), '\ufeffé 漢', 'utf16le');
    expect(readTextFile(inFolder('le'))).toBe('é 漢');
    writeFileSync(inFolder('be'), Buffer.from('\ufeffé 漢', 'utf16le').swap16());
    expect(readTextFile(inFolder('be'))).toBe('é 漢');
    writeFileSync(inFolder('empty'), '');
    expect(readTextFile(inFolder('empty'))).toBe('');
  });

  it.each([
    ['a folder', '.', 'it is a folder'],
    ['no file', 'none', 'there is no such file'],
    ['an endless device', '/dev/zero', 'it is larger than 64 MiB'],
  ])('gives an error with the reason for %s', (_what, name, reason) => {
    expect(() => readTextFile(name.startsWith('/') ? name : inFolder(name))).toThrow(reason);
  });

  it('gives an error with the reason if it is not UTF-8, or too large', () => {
    writeFileSync(inFolder('latin1'), Buffer.from([0xe9, 0x0a]));
    expect(() => readTextFile(inFolder('latin1'))).toThrow('it is not UTF-8');
    writeFileSync(inFolder('large'), '');
    truncateSync(inFolder('large'), 65 * 1024 * 1024);
    expect(() => readTextFile(inFolder('large'))).toThrow('it is larger than 64 MiB');
  });

  it('gives an error, and does not block the process, if it is a pipe without a writer', () => {
    execFileSync('mkfifo', [inFolder('pipe')]);
    expect(() => readTextFile(inFolder('pipe'))).toThrow('it is a pipe without a writer');
  });

  it('has a deadline if it is a pipe, even if its writer continues', async () => {
    const pipe = inFolder('endless');
    execFileSync('mkfifo', [pipe]);
    // The writer ends by itself, so that a read without a deadline fails this test.
    const script = `exec 3<>'${pipe}'; echo open; for i in {1..70}; do echo -n x >&3; sleep 0.1; done`;
    const writer = spawn('bash', ['-c', script]);
    try {
      await once(writer.stdout, 'data');
      expect(() => readTextFile(pipe)).toThrow('it is a pipe, and its data takes over 5 s');
    } finally {
      writer.kill('SIGKILL');
    }
  }, 60_000);

  it('may be a pipe whose writer takes a moment, such as <(command) of a shell', async () => {
    const pipe = inFolder('slow');
    execFileSync('mkfifo', [pipe]);
    // When this test reads the line `open`, the writer has opened the pipe.
    const writer = spawn('bash', ['-c', `exec 3<>'${pipe}'; echo open; sleep 0.3; echo text >&3; exec 3>&-`]);
    await once(writer.stdout, 'data');
    expect(readTextFile(pipe, 300_000)).toBe('text\n');
  });
});
