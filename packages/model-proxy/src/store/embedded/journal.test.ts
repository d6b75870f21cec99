import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lineOf, type Entry } from './journal-lines.js';
import { Journal } from './journal.js';

let folder: string;
let file: string;
let logged: string[];
let journals: Journal[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'journal-'));
  file = path.join(folder, 'x.journal');
  logged = [];
  journals = [];
});
afterEach(async () => {
  await Promise.all(journals.map((journal) => journal.close()));
  rmSync(folder, { recursive: true });
});

/** Opens the journal. @returns the journal and its content, which the test may change before a compaction. */
async function openJournal() {
  const content = new Map<string, unknown>();
  const log = { warn: (text: string) => void logged.push(text), error: (text: string) => void logged.push(text) };
  const journal = await Journal.open({
    file,
    log,
    load: ([kind, id, value]) => {
      if (kind !== 'thing') return false;
      if (value === null) content.delete(id);
      else content.set(id, value);
      return true;
    },
    // `load` stores only objects.
    entries: () => [...content].map(([id, value]): Entry => ['thing', id, value as object]),
  });
  journals.push(journal);
  return { journal, content };
}

const thing = (id: string, n: number): Entry => ['thing', id, { n }];

/** Opens the journal again, as after a crash. Returns its content. */
async function reopened() {
  const { content } = await openJournal();
  return Object.fromEntries(content);
}

describe('a journal', () => {
  it('keeps the last value of each entry, and forgets deleted ones', async () => {
    const { journal } = await openJournal();
    await journal.append([thing('a', 1), thing('b', 1)], { sync: true });
    await journal.append([thing('a', 2), ['thing', 'b', null]], { sync: false });
    expect(await reopened()).toEqual({ a: { n: 2 } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(logged).toEqual([]);
  });

  it('rejects an entry that is too long to be read again', async () => {
    const { journal } = await openJournal();
    const long: Entry = ['thing', 'a', { text: 'x'.repeat(1_048_576) }];
    await expect(journal.append([long], { sync: true })).rejects.toThrow('more than 1048576 bytes');
    await journal.append([thing('b', 1)], { sync: true });
    expect(await reopened()).toEqual({ b: { n: 1 } });
  });

  it('loses only the write that a crash interrupted, whichever byte of this write was the last', async () => {
    const { journal } = await openJournal();
    await journal.append([thing('a', 1)], { sync: true });
    const before = statSync(file).size;
    await journal.append([thing('b', 2)], { sync: true });
    const after = statSync(file).size;
    const bytes = readFileSync(file);
    for (let length = before; length < after; length += 1) {
      writeFileSync(file, bytes);
      truncateSync(file, length);
      expect(await reopened()).toEqual({ a: { n: 1 } });
      expect(statSync(file).size).toBe(before);
    }
    expect(logged.length).toBe(after - before - 1);
    expect(logged.at(-1)).toMatch(/removed the last \d+ bytes, a write that was interrupted/);
  });

  it('warns of an empty file, which it never writes', async () => {
    writeFileSync(file, '');
    await openJournal();
    expect(logged).toEqual([`${file} was empty, so its entries are lost: a file of this proxy has at least one line`]);
    expect(await reopened()).toEqual({});
    expect(logged).toHaveLength(1);
  });

  it('continues after an interrupted write', async () => {
    await openJournal();
    appendFileSync(file, '00000000 ["thing","x"');
    const { journal } = await openJournal();
    await journal.append([thing('a', 1)], { sync: true });
    expect(await reopened()).toEqual({ a: { n: 1 } });
  });

  it.each([
    ['a changed byte', (text: string) => text.replace('"a"', '"A"')],
    ['zeros', (text: string) => text.replace('"a",{"n":1}', '\0'.repeat(11))],
    ['an entry of an unknown kind', (text: string) => text.replace(/.*"a".*\n/, lineOf(['other', 'a', {}]))],
    ['a value that is not an object', (text: string) => text.replace(/.*"a".*\n/, '5f1d6b0c ["thing","a",5]\n')],
    ['a line above the limit', (text: string) => text.replace(/.*"a".*\n/, `${'x'.repeat(3_000_000)}\n`)],
  ])('keeps a copy of a file with %s, and loads the other lines', async (_what, damage) => {
    const { journal } = await openJournal();
    await journal.append([thing('a', 1), thing('b', 2)], { sync: true });
    const damaged = damage(readFileSync(file, 'latin1'));
    writeFileSync(file, damaged, 'latin1');
    expect(await reopened()).toEqual({ b: { n: 2 } });
    const [aside = ''] = readdirSync(folder).filter((name) => name.includes('damaged'));
    expect(readFileSync(path.join(folder, aside), 'latin1')).toBe(damaged);
    expect(logged).toEqual([expect.stringContaining(`1 lines are unreadable`)]);
    expect(logged[0]).toContain(aside);
    expect(await reopened()).toEqual({ b: { n: 2 } });
    expect(logged).toHaveLength(1);
  });

  it.each(['hello\n', '\0'.repeat(5000), '{"a":1}', lineOf(['thing', 'a', {}])])(
    'moves a file aside that does not begin with the first line of a journal: %.10j',
    async (text) => {
      writeFileSync(file, text);
      await openJournal();
      const [aside = ''] = readdirSync(folder).filter((name) => name.includes('damaged'));
      expect(readFileSync(path.join(folder, aside), 'utf8')).toBe(text);
      expect(logged).toEqual([expect.stringContaining('it is not a file of this proxy')]);
    },
  );

  it('does not open the file of a newer version', async () => {
    writeFileSync(file, lineOf(['format', 'rackless-model-proxy-store', { version: 2 }]));
    await expect(openJournal()).rejects.toThrow(/another version of the proxy/);
    expect(readdirSync(folder)).toEqual(['x.journal']);
  });

  it('does not open a pipe', async () => {
    execFileSync('mkfifo', [file]);
    await expect(openJournal()).rejects.toThrow('it is not a regular file');
  });

  it('reads lines that cross the blocks of the file', async () => {
    const { journal } = await openJournal();
    const long = (id: string): Entry => ['thing', id, { text: 'é'.repeat(100_000) }];
    await journal.append(
      Array.from({ length: 30 }, (_, index) => long(`${index}`)),
      { sync: false },
    );
    expect(Object.keys(await reopened())).toHaveLength(30);
    expect(logged).toEqual([]);
  });
});

describe('a compaction', () => {
  it('leaves one line for each entry, and at most one more for each change that comes meanwhile', async () => {
    const { journal, content } = await openJournal();
    for (let n = 0; n < 2000; n += 1) content.set(`${n % 1000}`, { n });
    await journal.append(
      [...content].map(([id, value]): Entry => ['thing', id, value as object]),
      { sync: false },
    ); // the loop above stores only objects
    const compaction = journal.compact();
    const changes: Promise<void>[] = [];
    for (let n = 0; n < 50; n += 1) {
      const id = `${n * 20}`;
      content.set(id, { n: -1 - n });
      changes.push(journal.append([['thing', id, { n: -1 - n }]], { sync: true }));
    }
    await Promise.all([compaction, ...changes]);
    const expected = Object.fromEntries(content);
    expect(await reopened()).toEqual(expected);
    expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(1 + 1000 + 50 + 2);
    expect(existsSync(`${file}.new`)).toBe(false);
  });

  it('has no effect if a crash interrupted it', async () => {
    const { journal } = await openJournal();
    await journal.append([thing('a', 1)], { sync: true });
    writeFileSync(`${file}.new`, lineOf(thing('b', 1)));
    expect(await reopened()).toEqual({ a: { n: 1 } });
    expect(readdirSync(folder)).toEqual(['x.journal']);
  });
});
