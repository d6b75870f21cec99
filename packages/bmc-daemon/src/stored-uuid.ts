/** UUIDs in the state folder. Each is the same after every restart if the folder is writable. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { removeLeftovers, replaceFile } from '@rackless/daemon/files/replace-file.js';
import type { Log } from '@rackless/daemon/log/log.js';

/** Options of {@link storedUuid}. */
interface StoredUuidOptions {
  /** The owner of the UUID, for messages. Its file is `<owner>-uuid`. */
  readonly owner: 'service' | 'daemon';
  /** EMULATOR_STATE_DIR. The function creates it if necessary. */
  readonly stateDir: string;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the text of a file without white space at its ends, or `''` if the file is missing or unreadable. */
export function readTrimmed(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * Returns the random UUID in the state folder, in lower case. Creates it if there is none, or if the file is
 * damaged; a damaged file is renamed. If the UUID cannot be stored, it is new after each start, and the function logs a
 * warning. Never throws.
 */
export function storedUuid({ owner, stateDir, log }: StoredUuidOptions): string {
  const file = path.join(stateDir, `${owner}-uuid`);
  removeLeftovers(file);
  const stored = readTrimmed(file);
  if (UUID.test(stored)) return stored;
  const made = randomUUID();
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    if (stored !== '') {
      renameSync(file, `${file}.broken`);
      log.error(`${file} is damaged: it was renamed to ${file}.broken, and the ${owner} has a new UUID`);
    }
    replaceFile(file, `${made}\n`);
  } catch (error) {
    log.warn(`storing the ${owner}'s UUID in ${file} failed: it will change at the next restart`, { error });
  }
  return made;
}
