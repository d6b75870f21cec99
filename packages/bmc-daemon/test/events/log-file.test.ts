/** Tests a log file on a full disk. A limit for the size of files has the same effect. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { newFolder } from './event-lab.js';

const module = join(import.meta.dirname, '../../dist/events/log-file.js');

/**
 * Appends one record, frees the memory of the records, and appends ten at once. The file has no room for all
 * ten, so the write ends in the middle of one. Prints the ids in the log.
 */
const script = `
  const { LogFile } = await import(process.argv[1]);
  const file = new LogFile({ path: process.argv[2], limit: 100, log: { info: console.error, warn: console.error } });
  const record = { time: '', messageId: '', args: [], severity: 'OK', message: 'x'.repeat(40), origin: '' };
  file.append(record);
  await file.flush();
  file.forget();
  for (let count = 0; count < 10; count += 1) file.append(record);
  console.log((await file.read()).map(({ id }) => id).join(' '));
`;

it('a log returns each record once, even if the disk became full in the middle of a write', () => {
  const folder = newFolder();
  try {
    const file = join(folder.path, 'log.jsonl');
    const command = ['--input-type=module', '--eval', script, module, file];
    const output = execFileSync('prlimit', ['--fsize=600', process.execPath, ...command], { encoding: 'utf8' });
    expect(output).toBe('1 2 3 4 5 6 7 8 9 10 11\n');
  } finally {
    folder.remove();
  }
});
