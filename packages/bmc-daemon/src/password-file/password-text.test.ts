import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readPasswordText } from './password-text.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-password-text-'));
  file = path.join(folder, 'users');
});

afterEach(() => rmSync(folder, { recursive: true }));

const mustNotWait = (): never => {
  throw new Error('there is nothing to wait for');
};

describe('reading the text of a password file', () => {
  it('returns a complete file unchanged', () => {
    writeFileSync(file, 'a:1\nb:2\n');
    expect(readPasswordText(file, mustNotWait)).toBe('a:1\nb:2\n');
  });

  it.each(['', 'a:1\nb'])('waits for the rest of a file that so far contains %j', (half) => {
    writeFileSync(file, half);
    expect(readPasswordText(file, () => writeFileSync(file, 'a:1\nb:2\n'))).toBe('a:1\nb:2\n');
  });

  it.each(['', 'a:1'])('accepts a file that stays %j', (text) => {
    writeFileSync(file, text);
    expect(readPasswordText(file)).toBe(text);
  });
});
