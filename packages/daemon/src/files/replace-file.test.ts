import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
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
import { FileChangedError, prepareFile, removeLeftovers, replaceFile } from './replace-file.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'replace-file-'));
  file = path.join(folder, 'file');
});

afterEach(() => rmSync(folder, { recursive: true }));

const mode = (name: string) => (statSync(name).mode & 0o7777).toString(8);

describe('replacing a file', () => {
  it('creates a file with mode 0600', () => {
    replaceFile(file, 'text');
    expect([readFileSync(file, 'utf8'), mode(file), readdirSync(folder)]).toEqual(['text', '600', ['file']]);
  });

  it('preserves the mode and the owner of an old file, and a link to it', () => {
    writeFileSync(file, 'old');
    chmodSync(file, 0o640);
    const owner = process.getuid?.() === 0 ? 1234 : statSync(file).uid;
    chownSync(file, owner, statSync(file).gid);
    const link = path.join(folder, 'link');
    symlinkSync('file', link);
    replaceFile(link, 'new');
    expect([readFileSync(file, 'utf8'), mode(file), statSync(file).uid]).toEqual(['new', '640', owner]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  it('creates a file with the owner and the group of the folder if the process runs as root', () => {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(folder, 1234, 2345);
    replaceFile(file, 'text');
    const { uid, gid } = statSync(file);
    expect([uid, gid, mode(file)]).toEqual(
      isRoot ? [1234, 2345, '600'] : [process.getuid?.(), process.getgid?.(), '600'],
    );
  });

  it('does not overwrite a change by another process', () => {
    replaceFile(file, 'one', { basedOn: '' });
    replaceFile(file, 'two', { basedOn: 'one' });
    writeFileSync(file, 'theirs');
    expect(() => replaceFile(file, 'three', { basedOn: 'two' })).toThrow(`${file} was changed meanwhile`);
    rmSync(file);
    expect(() => replaceFile(file, 'three', { basedOn: 'theirs' })).toThrow(`${file} was changed meanwhile`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does not replace a file that another process is replacing, unless its lock is stale', () => {
    replaceFile(file, 'one');
    const lock = path.join(folder, '.file.lock');
    writeFileSync(lock, '');
    expect(() => replaceFile(file, 'two', { basedOn: 'one' })).toThrow(FileChangedError);
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['one', ['.file.lock', 'file']]);
    const longAgo = Date.now() / 1000 - 60;
    utimesSync(lock, longAgo, longAgo);
    replaceFile(file, 'two', { basedOn: 'one' });
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['two', ['file']]);
  });

  it('leaves no temporary file if it fails', () => {
    mkdirSync(file);
    expect(() => replaceFile(file, 'text')).toThrow(/EISDIR|ENOTEMPTY|directory/);
    expect(readdirSync(folder)).toEqual(['file']);
  });
});

describe('preparing the replacement of a file', () => {
  it('writes a temporary file and changes nothing before the commit', () => {
    writeFileSync(file, 'old');
    const prepared = prepareFile(file, 'new');
    expect([readFileSync(file, 'utf8'), readdirSync(folder).length]).toEqual(['old', 2]);
    prepared.commit();
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['new', ['file']]);
  });

  it('leaves no temporary file after a discard', () => {
    writeFileSync(file, 'old');
    prepareFile(file, 'new').discard();
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['old', ['file']]);
  });
});

describe('removing leftovers of a killed process', () => {
  const longAgo = new Date(1000);
  const leave = (name: string): string => {
    const leftover = path.join(folder, name);
    writeFileSync(leftover, 'half');
    utimesSync(leftover, longAgo, longAgo);
    return leftover;
  };

  it('removes temporary files and locks that are older than this process, also through a link', () => {
    writeFileSync(file, 'text');
    const left = [leave('.file.0123456789ab'), leave('.file.lock')];
    const elsewhere = mkdtempSync(path.join(tmpdir(), 'replace-file-'));
    symlinkSync(file, path.join(elsewhere, 'link'));
    expect(removeLeftovers(path.join(elsewhere, 'link')).toSorted()).toEqual(left);
    expect(readdirSync(folder)).toEqual(['file']);
    rmSync(elsewhere, { recursive: true });
  });

  it('ignores newer files, other names, other owners, folders and links', () => {
    writeFileSync(file, 'text');
    for (const name of [
      '.file.0123456789abc',
      '.file.0123456789aB',
      '.file.tmp',
      '.other.0123456789ab',
      'file.0123456789ab',
    ])
      leave(name);
    writeFileSync(path.join(folder, '.file.aaaaaaaaaaaa'), 'written now');
    mkdirSync(path.join(folder, '.file.bbbbbbbbbbbb'));
    symlinkSync('file', path.join(folder, '.file.cccccccccccc'));
    if (process.getuid?.() === 0) chownSync(leave('.file.dddddddddddd'), 1234, 1234);
    const before = readdirSync(folder);
    expect(removeLeftovers(file)).toEqual([]);
    expect(readdirSync(folder)).toEqual(before);
  });

  it('works even if the file or its folder does not exist', () => {
    const left = leave('.file.0123456789ab');
    expect(removeLeftovers(file)).toEqual([left]);
    expect(removeLeftovers(path.join(folder, 'nowhere', 'file'))).toEqual([]);
  });
});
