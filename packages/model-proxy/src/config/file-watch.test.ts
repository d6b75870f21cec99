import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { waitFor } from '../../test/harness/wait.js';
import { watchFiles, type FileWatch } from './file-watch.js';

let folder: string;
let watch: FileWatch | undefined;
let changes: number;
const at = (name: string) => path.join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rackless-watch-'));
  changes = 0;
  writeFileSync(at('a'), '1');
});

afterEach(() => {
  watch?.close();
  rmSync(folder, { recursive: true });
});

function start(...names: readonly string[]): FileWatch {
  watch = watchFiles({ files: names.map(at), onChange: () => (changes += 1), intervalMs: 10 });
  return watch;
}

/** Waits until the watch has reported at least `count` changes. */
const changed = (count: number) =>
  waitFor(
    () => (changes >= count ? true : undefined),
    () => `${changes} changes were noticed, not ${count}`,
  );

/**
 * Expects that there are only `count` changes so far. Changes another watched file: when the watch
 * reports this change, it has also reported all earlier ones.
 */
async function expectOnly(count: number, name: string): Promise<void> {
  writeFileSync(at(name), String(Math.random()).repeat(3));
  await changed(count + 1);
  expect(changes).toBe(count + 1);
}

describe('a changed file is reported', () => {
  it('once, when it is written in place', async () => {
    writeFileSync(at('b'), '1');
    start('a', 'b');
    writeFileSync(at('a'), '2 and more');
    await changed(1);
    await expectOnly(1, 'b');
  });

  it('each time another file replaces it, even with the same size', async () => {
    start('a');
    for (let round = 1; round <= 3; round += 1) {
      writeFileSync(at('next'), '2');
      renameSync(at('next'), at('a'));
      await changed(round);
    }
  });

  it('when a link to it changes, as when Kubernetes updates a ConfigMap', async () => {
    for (const version of ['..v1', '..v2', '..v3']) {
      mkdirSync(at(version));
      writeFileSync(at(`${version}/config.yaml`), 'same');
    }
    symlinkSync('..v1', at('..data'));
    symlinkSync('..data/config.yaml', at('config.yaml'));
    start('config.yaml');
    for (const [index, version] of ['..v2', '..v3'].entries()) {
      symlinkSync(version, at('..data_tmp'));
      renameSync(at('..data_tmp'), at('..data'));
      await changed(index + 1);
    }
  });

  it('when it disappears, and when it appears for the first time', async () => {
    start('a', 'later');
    rmSync(at('a'));
    await changed(1);
    writeFileSync(at('later'), 'x');
    await changed(2);
  });
});

describe('a watch', () => {
  it('does not report changes before `mark`, or changes of files that `replace` has removed', async () => {
    writeFileSync(at('b'), '1');
    writeFileSync(at('c'), '1');
    const started = start('a', 'b');
    writeFileSync(at('a'), 'changed');
    started.mark();
    started.replace([at('b'), at('c')]);
    writeFileSync(at('a'), 'changed again');
    await expectOnly(0, 'c');
    await expectOnly(1, 'b');
  });

  it('reports a change between `mark` and `replace`', async () => {
    const started = start('a');
    started.mark();
    writeFileSync(at('a'), 'while the old text is being read');
    started.replace([at('a')]);
    await changed(1);
  });
});
