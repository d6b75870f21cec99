import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseHtpasswd } from './htpasswd.js';
import { setPassword, withUserLine } from './password-file-writer.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-htpasswd-'));
  file = path.join(folder, 'users');
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Returns whether Apache's htpasswd accepts a password. */
function apacheVerifies(user: string, password: string): boolean {
  try {
    execFileSync('htpasswd', ['-vb', file, user, password], { stdio: 'pipe' });
    return true;
  } catch {
    return false; // htpasswd exits with 3 if the password is different.
  }
}

const mode = (name: string) => (statSync(name).mode & 0o7777).toString(8);

describe('setting a password', () => {
  it("creates a file that only its owner can read and that Apache's htpasswd verifies, and changes and adds users", async () => {
    expect(await setPassword(file, 'admin', 'secret')).toBe('added');
    expect(mode(file)).toBe('600');
    expect(apacheVerifies('admin', 'secret')).toBe(true);
    expect(await setPassword(file, 'öther', 'pä:ss')).toBe('added');
    expect(await setPassword(file, 'admin', 'new')).toBe('changed');
    expect(apacheVerifies('admin', 'secret')).toBe(false);
    expect(apacheVerifies('admin', 'new')).toBe(true);
    expect(apacheVerifies('öther', 'pä:ss')).toBe(true);
    expect([...parseHtpasswd(readFileSync(file, 'utf8')).entries.keys()]).toEqual(['admin', 'öther']);
    expect(readdirSync(folder)).toEqual(['users']);
  });

  it('keeps comments, other kinds of lines, the mode and a link to the file', async () => {
    writeFileSync(file, '# ours\nold:$apr1$x$y\n\nadmin:x\n');
    chmodSync(file, 0o640);
    const link = path.join(folder, 'link');
    symlinkSync('users', link);
    expect(await setPassword(link, 'admin', 'secret')).toBe('changed');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/^# ours\nold:\$apr1\$x\$y\n\nadmin:\$2b\$12\$[^\n]{53}\n$/);
    expect(mode(file)).toBe('640');
  });

  it.each([
    ['', 'new', 'new:h\n'],
    ['a:1', 'new', 'a:1\nnew:h\n'],
    ['a:1\nb:2\na:3\nab:4\n', 'a', 'a:h\nb:2\nab:4\n'],
    ['b:2\r\na:1\r\n', 'a', 'b:2\r\na:h\n'],
  ])('changes %j so that %s has a single line', (text, user, expected) => {
    expect(withUserLine(text, user, `${user}:h`)).toBe(expected);
  });

  it.each([
    ['', 'x', 'a user needs a name'],
    ['a:b', 'x', 'a user name cannot contain a colon, which ends the name in HTTP and in the file'],
    ['a\nb', 'x', 'a user name cannot contain control characters'],
    ['a\ud800', 'x', 'a user name cannot contain half a character (a lone surrogate)'],
    ['\ufeffa', 'x', 'a user name cannot begin with a byte order mark'],
    ['..', 'x', "a user name cannot be . or ..: clients remove them from the account's URI"],
    ['Members', 'x', 'a user name cannot be Members: that URI belongs to the collection of accounts'],
    ['#a', 'x', 'a user name cannot begin with #: the line would be a comment'],
    ['a', 'x\0y', 'a password cannot contain NUL'],
    ['a', 'ä'.repeat(37), 'the password has 74 bytes, and bcrypt uses only the first 72'],
  ])('rejects the user %j with the password %j', async (user, password, reason) => {
    await expect(setPassword(file, user, password)).rejects.toThrow(reason);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('gives the reason if a file cannot be written', async () => {
    const missing = path.join(folder, 'none', 'users');
    await expect(setPassword(missing, 'a', 'x')).rejects.toThrow(`writing ${missing}: there is no such file`);
    await expect(setPassword(folder, 'a', 'x')).rejects.toThrow(`writing ${folder}: it is a folder`);
  });
});
