/**
 * What belongs to the service and to no machine (accounts' roles, subscriptions), kept as JSON in EMULATOR_STATE_DIR. It is read
 * once; what is kept is replaced as a whole, in memory and on the disk, one change after the other.
 */
import { mkdirSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import type { Log } from '@rackless/daemon/log.js';
import { replaceFile } from '@rackless/daemon/replace-file.js';
import { fileReason, readTextFile } from '@rackless/daemon/text-file.js';

/** The file can not be read, or not be written; the message names it. */
export class StateFileError extends Error {
  override readonly name = 'StateFileError';
}

export interface StateFile<State> {
  /** Path of the file, for messages. */
  readonly path: string;
  /** What is kept. Another object after each change; never to be mutated. */
  readonly state: State;
  /**
   * Replaces what is kept by what `change` makes of it. On the disk when it returns (a few milliseconds: not for what changes
   * many times a second); the same object as before is not written.
   * @throws {StateFileError} where it can not be written; then what was kept still is.
   */
  update(change: (state: State) => State): void;
}

export interface StateFileOptions<State> {
  /** EMULATOR_STATE_DIR; made, for its owner alone, by the first change. */
  readonly folder: string;
  /** `accounts`: the file is `accounts.json`. */
  readonly name: string;
  /** What the file has to hold. Unknown properties of a `z.object` are dropped, so a newer daemon's file can be read. */
  readonly schema: z.ZodType<State>;
  /** Where there is no file yet. */
  readonly initial: State;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /**
   * A file that is none of ours: `setAside` renames it to `<name>.json.broken`, logs an error and begins anew; `refuse` throws.
   * Refuse where beginning anew would open a door.
   */
  readonly broken: 'setAside' | 'refuse';
}

/** @throws {StateFileError} where the file is there and can not be read, or is broken and that is to be refused. */
export function openStateFile<State>(options: StateFileOptions<State>): StateFile<State> {
  const { folder, name, initial, log } = options;
  const file = path.join(folder, `${name}.json`);
  let seen = fingerprint(file);
  let state = read(file, options) ?? initial;

  return {
    path: file,
    get state() {
      return state;
    },
    update(change) {
      if (fingerprint(file) !== seen) {
        // An administrator's editor, or a second daemon that should have a folder of its own: neither's work is thrown away.
        log.warn(`${file} was changed by somebody else and is read again`);
        seen = fingerprint(file);
        state = read(file, options) ?? initial;
      }
      const next = change(state);
      if (next === state) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        replaceFile(file, `${JSON.stringify(next, null, 2)}\n`);
      } catch (error) {
        throw new StateFileError(`writing ${file}: ${fileReason(error)}`, { cause: error });
      }
      seen = fingerprint(file);
      state = next;
    },
  };
}

/** What changes with the file; empty where there is none. */
function fingerprint(file: string): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : [found.dev, found.ino, found.size, found.mtimeNs].join(':');
  } catch (error) {
    throw new StateFileError(`reading ${file}: ${fileReason(error)}`, { cause: error });
  }
}

/** undefined: there is no file, or it was set aside. */
function read<State>(file: string, { schema, log, broken }: StateFileOptions<State>): State | undefined {
  if (fingerprint(file) === '') return undefined;
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    throw new StateFileError(`reading ${file}: ${fileReason(error)}`, { cause: error });
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    // Neither the text nor zod's account of it: both may quote what is secret.
    if (broken === 'refuse')
      throw new StateFileError(`${file} is damaged: correct it, or move it away to begin anew`, { cause: error });
    renameSync(file, `${file}.broken`);
    log.error(`${file} is damaged: it is kept as ${file}.broken, and what it held begins anew`);
    return undefined;
  }
}
