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
  it('makes one for its owner alone (S2)', () => {
    replaceFile(file, 'text');
    expect([readFileSync(file, 'utf8'), mode(file), readdirSync(folder)]).toEqual(['text', '600', ['file']]);
  });

  it('keeps the mode and the owner of an old one, and a link to it (S2)', () => {
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

  it('makes one that belongs to the owner of its folder when root makes it', () => {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(folder, 1234, 2345);
    replaceFile(file, 'text');
    const { uid, gid } = statSync(file);
    expect([uid, gid, mode(file)]).toEqual(
      isRoot ? [1234, 2345, '600'] : [process.getuid?.(), process.getgid?.(), '600'],
    );
  });

  it('does not write over what somebody else wrote meanwhile (S2)', () => {
    replaceFile(file, 'one', { basedOn: '' });
    replaceFile(file, 'two', { basedOn: 'one' });
    writeFileSync(file, 'theirs');
    expect(() => replaceFile(file, 'three', { basedOn: 'two' })).toThrow(`${file} was changed meanwhile`);
    rmSync(file);
    expect(() => replaceFile(file, 'three', { basedOn: 'theirs' })).toThrow(`${file} was changed meanwhile`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does not replace what another process is replacing, but for one that ended in the middle of it (S2)', () => {
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

  it('leaves nothing behind where it can not be written (S2)', () => {
    mkdirSync(file);
    expect(() => replaceFile(file, 'text')).toThrow(/EISDIR|ENOTEMPTY|directory/);
    expect(readdirSync(folder)).toEqual(['file']);
  });
});

describe('preparing the replacement of a file', () => {
  it('writes beside it, and changes nothing before it is committed', () => {
    writeFileSync(file, 'old');
    const prepared = prepareFile(file, 'new');
    expect([readFileSync(file, 'utf8'), readdirSync(folder).length]).toEqual(['old', 2]);
    prepared.commit();
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['new', ['file']]);
  });

  it('leaves nothing when it is discarded', () => {
    writeFileSync(file, 'old');
    prepareFile(file, 'new').discard();
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['old', ['file']]);
  });
});

describe('what a killed process left beside a file', () => {
  const long = new Date(1000);
  const leave = (name: string): string => {
    const leftover = path.join(folder, name);
    writeFileSync(leftover, 'half');
    utimesSync(leftover, long, long);
    return leftover;
  };

  it('is removed: new texts and locks that are older than this process, also behind a link', () => {
    writeFileSync(file, 'text');
    const left = [leave('.file.0123456789ab'), leave('.file.lock')];
    const elsewhere = mkdtempSync(path.join(tmpdir(), 'replace-file-'));
    symlinkSync(file, path.join(elsewhere, 'link'));
    expect(removeLeftovers(path.join(elsewhere, 'link')).toSorted()).toEqual(left);
    expect(readdirSync(folder)).toEqual(['file']);
    rmSync(elsewhere, { recursive: true });
  });

  it('is not: what is younger, of another form, of another file or owner, a folder or a link', () => {
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

  it('needs neither the file nor the folder to exist', () => {
    const left = leave('.file.0123456789ab');
    expect(removeLeftovers(file)).toEqual([left]);
    expect(removeLeftovers(path.join(folder, 'nowhere', 'file'))).toEqual([]);
  });
});
