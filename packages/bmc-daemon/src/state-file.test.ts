import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { openStateFile } from './state-file.js';

let parent: string;
let folder: string;
let logged: string[];

beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'state-file-'));
  folder = path.join(parent, 'state');
  logged = [];
});

afterEach(() => rmSync(parent, { recursive: true }));

const schema = z.object({ count: z.int() });
const log = {
  warn: (line: string) => logged.push(`warn ${line}`),
  error: (line: string) => logged.push(`error ${line}`),
};
const open = (broken: 'setAside' | 'refuse' = 'setAside') =>
  openStateFile({ folder, name: 'counter', schema, initial: { count: 0 }, log, broken });
const increment = ({ count }: { count: number }) => ({ count: count + 1 });
const mode = (name: string) => (statSync(name).mode & 0o777).toString(8);

describe('a state file', () => {
  it('has the initial state until the first change, which creates the file for its owner only', () => {
    const file = open();
    expect([file.state, readdirSync(parent)]).toEqual([{ count: 0 }, []]);
    file.update((state) => state);
    expect(readdirSync(parent)).toEqual([]);
    file.update(increment);
    file.update(increment);
    expect([file.state, open().state]).toEqual([{ count: 2 }, { count: 2 }]);
    expect([mode(folder), mode(file.path), readdirSync(folder)]).toEqual(['700', '600', ['counter.json']]);
    expect(logged).toEqual([]);
  });

  const damages = [
    ['no text', ''],
    ['half an object', '{'],
    ['another type', '{"count":"many"}'],
    ['an array', '[]'],
    ['bytes that are not UTF-8', '{"count":1}\xff'],
    ['a block of zeros', '\0'.repeat(4096)],
  ] as const;

  it.each(damages)('with %s is renamed with an error in the log, and the initial state is used', (_what, text) => {
    open().update(increment);
    const file = path.join(folder, 'counter.json');
    writeFileSync(file, text, 'latin1');
    expect(open().state).toEqual({ count: 0 });
    expect(readFileSync(`${file}.broken`, 'latin1')).toBe(text);
    expect(logged).toEqual([
      `error ${file} is damaged: the daemon renamed it to ${file}.broken, and starts with initial values`,
    ]);
  });

  it.each(damages)(
    'with %s is not renamed if the caller chose to refuse damaged files; opening it then throws',
    (_what, text) => {
      open().update(increment);
      const file = path.join(folder, 'counter.json');
      writeFileSync(file, text, 'latin1');
      const complaint = `${file} is damaged: correct it, or move it away to start without it`;
      expect(() => open('refuse')).toThrow(expect.objectContaining({ name: 'StateFileError', message: complaint }));
      expect([readFileSync(file, 'latin1'), readdirSync(folder)]).toEqual([text, ['counter.json']]);
    },
  );

  it.each(['folder', 'pipe'])('is renamed or refused, as the caller chose, if it is a %s', (kind) => {
    open().update(increment);
    const file = path.join(folder, 'counter.json');
    rmSync(file);
    execFileSync(kind === 'folder' ? 'mkdir' : 'mkfifo', [file]);
    expect(() => open('refuse')).toThrow(
      `${file} is not a regular file: correct it, or move it away to start without it`,
    );
    expect(open().state).toEqual({ count: 0 });
    expect(readdirSync(folder)).toEqual(['counter.json.broken']);
    expect(logged).toEqual([
      `error ${file} is not a regular file: the daemon renamed it to ${file}.broken, and starts with initial values`,
    ]);
  });

  it('opens with a warning after it removed temporary files of a killed process; other hidden files stay', () => {
    open().update(increment);
    const leftover = path.join(folder, '.counter.json.0123456789ab');
    const other = path.join(folder, '.counter.json.backup');
    for (const name of [leftover, other]) {
      writeFileSync(name, 'half of it');
      utimesSync(name, 1000, 1000);
    }
    open();
    expect(readdirSync(folder)).toEqual(['.counter.json.backup', 'counter.json']);
    expect(logged).toEqual([`warn removed ${leftover}, which a killed process left`]);
  });

  it('is read again before a change, with a warning, if another program has changed it', () => {
    const [ours, theirs] = [open(), open()];
    theirs.update(() => ({ count: 40 }));
    ours.update(increment);
    expect([ours.state, open().state]).toEqual([{ count: 41 }, { count: 41 }]);
    expect(logged).toEqual([`warn ${ours.path} was changed by another program and is read again`]);
  });

  it('keeps its state in memory if a change cannot be written, and the error names the file', () => {
    const file = open();
    file.update(increment);
    rmSync(folder, { recursive: true });
    // Tests in containers run as root, which ignores permissions. A file in place of the folder stops root, too.
    writeFileSync(folder, '');
    chmodSync(folder, 0o400);
    expect(() => file.update(increment)).toThrow(/^(reading|writing) .*counter\.json: /);
    expect(file.state).toEqual({ count: 1 });
  });

  it('keeps its state in memory if the folder was removed and cannot be created again', () => {
    const file = open();
    file.update(increment);
    rmSync(folder, { recursive: true });
    // The folder cannot be created, because its name is a link to a path that does not exist.
    symlinkSync(path.join(parent, 'gone'), folder);
    expect(() => file.update(increment)).toThrow(/^writing .*counter\.json: /);
    expect(file.state).toEqual({ count: 1 });
  });
});
