import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
import { prepareFileInBackground } from './background-file.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'background-file-'));
  file = path.join(folder, 'file');
});

afterEach(() => rmSync(folder, { recursive: true }));

const mode = (name: string) => (statSync(name).mode & 0o7777).toString(8);

describe('replacing a file in the background', () => {
  it('creates a file with mode 0600', async () => {
    await (await prepareFileInBackground(file, 'text')).commit();
    expect([readFileSync(file, 'utf8'), mode(file), readdirSync(folder)]).toEqual(['text', '600', ['file']]);
  });

  it('preserves the mode of an old file, and a link to it', async () => {
    writeFileSync(file, 'old');
    chmodSync(file, 0o640);
    const link = path.join(folder, 'link');
    symlinkSync('file', link);
    const prepared = await prepareFileInBackground(link, 'new');
    expect(readFileSync(file, 'utf8')).toBe('old');
    const committed = prepared.commit();
    expect([readFileSync(file, 'utf8'), mode(file)]).toEqual(['new', '640']);
    await committed;
    (await prepareFileInBackground(file, 'newer')).discard();
    expect([lstatSync(link).isSymbolicLink(), readdirSync(folder).toSorted()]).toEqual([true, ['file', 'link']]);
  });

  it('fails if the folder does not exist, and creates nothing', async () => {
    await expect(prepareFileInBackground(path.join(folder, 'none', 'file'), 'text')).rejects.toThrow('ENOENT');
    expect(readdirSync(folder)).toEqual([]);
  });
});
