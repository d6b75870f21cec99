import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LogFile } from './log-file.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-log-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function record(message: string) {
  return { time: '', messageId: '', args: [], severity: 'OK' as const, message, origin: '' };
}

/** A log whose folder is a file until `repair`, so that each write fails. */
async function unwritableLog() {
  const parent = join(folder, 'logs');
  const path = join(parent, 'log.jsonl');
  await writeFile(parent, '');
  const lines: string[] = [];
  let now = 0;
  const file = new LogFile({
    path,
    limit: 100,
    log: { info: (text) => lines.push(text), warn: (text) => lines.push(text) },
    now: () => now,
  });
  return {
    file,
    /** The messages about writes. */
    written: () => lines.filter((line) => line.startsWith('writing')).map((line) => line.replace(folder, '')),
    repair: () => rm(parent),
    wait: (ms: number) => (now += ms),
    stored: async () => [...(await readFile(path, 'utf8')).matchAll(/"message":"(\w+)"/g)].map(([, text]) => text),
  };
}

describe('a log whose writes fail', () => {
  it('writes all entries to the disk when writing works again', async () => {
    const { file, written, repair, wait, stored } = await unwritableLog();
    file.append(record('first'));
    expect((await file.read()).map(({ message }) => message)).toEqual(['first']);
    await repair();
    file.append(record('second'));
    await file.read();
    wait(30_000);
    file.append(record('third'));
    expect((await file.read()).map(({ id, message }) => `${id} ${message}`)).toEqual([
      '1 first',
      '2 second',
      '3 third',
    ]);
    expect(await stored()).toEqual(['first', 'second', 'third']);
    file.append(record('fourth'));
    await file.flush();
    expect(await stored()).toEqual(['first', 'second', 'third', 'fourth']);
    expect(written()).toEqual([
      'writing /logs/log.jsonl failed: its log is only in memory until a later write succeeds',
      'writing /logs/log.jsonl works again',
    ]);
  });

  it('writes its entries at the end of the daemon if the disk has space again', async () => {
    const { file, repair, stored } = await unwritableLog();
    file.append(record('first'));
    await file.read();
    await repair();
    await file.flush();
    expect(await stored()).toEqual(['first']);
  });

  it('reports the failure once', async () => {
    const { file, written, wait } = await unwritableLog();
    for (const message of ['first', 'second', 'third']) {
      file.append(record(message));
      await file.flush();
      wait(30_000);
    }
    expect(written()).toHaveLength(1);
    expect((await file.read()).map(({ message }) => message)).toEqual(['first', 'second', 'third']);
  });
});
