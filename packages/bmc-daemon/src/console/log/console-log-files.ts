/** Reads the files of a console log's folder. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '@rackless/daemon/error-code.js';
import { z } from 'zod';
import type { Mark } from './console-log-pending.js';

const facts = z.object({
  /** ISO 8601, UTC. */
  began: z.iso.datetime(),
  /** Id of the machine's run, which several boots can share; null if unknown. */
  instance: z.string().nullable(),
});
/** When a boot began, and in which run of the machine. */
export type BootFacts = z.infer<typeof facts>;

/**
 * Returns when the boot of a folder began, and in which run of the machine. If `boot.json` is missing
 * or unreadable, the boot began when the folder was created, and the run is unknown.
 * @throws the errors of node:fs if the folder cannot be examined.
 */
export async function factsIn(folder: string): Promise<BootFacts> {
  try {
    return facts.parse(JSON.parse(await readFile(path.join(folder, 'boot.json'), 'utf8')));
  } catch {
    // The daemon was killed after it created the folder and before it wrote the file, or the disk
    // was full. The recorded output in the folder is still useful.
    const { birthtime } = await stat(folder);
    return { began: birthtime.toISOString(), instance: null };
  }
}

/** Returns the names in a folder; none if it is missing. @throws the other errors of node:fs. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Reads a file. Returns an empty buffer if the file is missing. @throws the other errors of node:fs. */
export async function contentsOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

/** Returns the numbers in the first group of the pattern, ascending. Skips names that do not match. */
export function numbersIn(files: readonly string[], pattern: RegExp): readonly number[] {
  return files.flatMap((file) => pattern.exec(file)?.[1] ?? []).map(Number).sort((left, right) => left - right); // prettier-ignore
}

/** Parses the marks of a file. Skips lines that are malformed, or that have no end because a write was interrupted. */
export function parseMarks(text: string): readonly Mark[] {
  return [...text.matchAll(/^(\d+) (\d+)\n/gm)].map(([, at, time]) => ({ at: Number(at), time: Number(time) }));
}
