/**
 * Stores the service's own data (roles, subscriptions) as JSON in EMULATOR_STATE_DIR. A file is
 * read at the start, and again before a change if another program has written it. Each change
 * replaces the whole state, in memory and on the disk, before the next change begins.
 */
import { mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { prepareFileInBackground } from '@rackless/daemon/files/background-file.js';
import { removeLeftovers, replaceFile } from '@rackless/daemon/files/replace-file.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { StorageError } from './storage-error.js';

/** The file cannot be read or written; the message names it. */
export class StateFileError extends StorageError {
  override readonly name = 'StateFileError';
}

/** A JSON file with a part of the state of the service. */
export interface StateFile<State> {
  /** The file's path, for messages. */
  readonly path: string;
  /** The current state. A change replaces the object; never mutate it. */
  readonly state: State;
  /**
   * Replaces the state by the result of `change`, and writes it before returning. A write takes a
   * few milliseconds, so do not use it for frequent changes. Nothing is written if `change` returns
   * the same object.
   * @throws {StateFileError} if the file cannot be written, or if another program has written it and it
   *   cannot be read again; the state stays unchanged. Also throws the errors of `change`.
   */
  update(change: (state: State) => State): void;
}

/** A state file that can also be written without a pause of other work. */
interface LargeStateFile<State> extends StateFile<State> {
  /**
   * Replaces the state by `next`, without {@link update}'s pause of all other work during the write. Writes `text`,
   * which must be the JSON of `next`. An update that runs meanwhile has precedence, and `next` is then lost.
   * Changes of the file by other programs are lost.
   * @throws {StateFileError} if the file cannot be written; the state stays unchanged.
   */
  replace(next: State, text: string): Promise<void>;
}

interface StateFileOptions<State> {
  /** EMULATOR_STATE_DIR; the first change creates it, for its owner only. */
  readonly folder: string;
  /** `access`: the file is `access.json`. */
  readonly name: string;
  /**
   * The schema of the file. Unknown properties of a `z.object` are dropped, or stored again if it
   * is loose, so the daemon can read a newer daemon's file.
   */
  readonly schema: z.ZodType<State>;
  /** The state without a file. */
  readonly initial: State;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /**
   * Treatment of a damaged file: the file is no regular file, not UTF-8 or not JSON, or violates the schema. Applies
   * at the start, and if another program damages the file later. `setAside`: renames the file to
   * `<name>.json.broken`, logs an error and continues with the initial state. `refuse`: throws.
   * Use `refuse` if the initial state would weaken security.
   */
  readonly broken: 'setAside' | 'refuse';
}

/**
 * Opens a state file, and removes leftovers of a killed process.
 * @throws {StateFileError} if the file is unreadable, or is damaged and `broken` is `refuse` or the renaming fails.
 */
export function openStateFile<State>(options: StateFileOptions<State>): LargeStateFile<State> {
  const { folder, name, initial, log } = options;
  const file = path.join(folder, `${name}.json`);
  for (const leftover of removeLeftovers(file)) log.warn(`removed ${leftover}, which a killed process left`);
  let seen = fingerprint(file);
  let state = read(file, options) ?? initial;

  return {
    path: file,
    get state() {
      return state;
    },
    update(change) {
      const found = fingerprint(file);
      let current = state;
      if (found !== seen) {
        // Another process wrote the file: an administrator's editor, or a second daemon. Keeps its
        // changes.
        log.warn(`${file} was changed by another program and is read again`);
        current = read(file, options) ?? initial;
      }
      const next = change(current);
      if (next !== current) {
        attempt(`writing ${file}`, () => {
          mkdirSync(folder, { recursive: true, mode: 0o700 });
          replaceFile(file, `${JSON.stringify(next, null, 2)}\n`);
        });
      }
      // Changes the state after the write, so that a failed write changes neither the state nor the
      // fingerprint.
      seen = next === current ? found : fingerprint(file);
      state = next;
    },
    async replace(next, text) {
      const before = state;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const prepared = await prepareFileInBackground(file, text);
        if (state !== before) {
          prepared.discard();
          return;
        }
        const committed = prepared.commit();
        seen = fingerprint(file);
        state = next;
        await committed;
      } catch (error) {
        throw fileError(`writing ${file}`, error);
      }
    },
  };
}

/**
 * Returns a text that changes with the file; empty if there is none.
 * @throws {StateFileError} if the file cannot be examined.
 */
function fingerprint(file: string): string {
  const found = attempt(`reading ${file}`, () => statSync(file, { bigint: true, throwIfNoEntry: false }));
  return found === undefined ? '' : [found.dev, found.ino, found.size, found.mtimeNs].join(':');
}

/**
 * Returns the state; undefined if there is no file, or if the damaged file was renamed.
 * @throws {StateFileError} if the file cannot be read, or is damaged and must not or cannot be renamed.
 */
function read<State>(file: string, { schema, log, broken }: StateFileOptions<State>): State | undefined {
  const found = attempt(`reading ${file}`, () => statSync(file, { throwIfNoEntry: false }));
  if (found === undefined) return undefined;
  // Reading a pipe could block forever, and a folder has no content.
  const bytes = found.isFile() ? attempt(`reading ${file}`, () => readFileSync(file)) : undefined;
  try {
    if (bytes === undefined) throw new Error('not a regular file');
    return schema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch (error) {
    // Logs neither the text nor zod's message: both may quote secrets.
    const damage = bytes === undefined ? 'is not a regular file' : 'is damaged';
    if (broken === 'refuse')
      throw new StateFileError(`${file} ${damage}: correct it, or move it away to start without it`, { cause: error });
    attempt(`renaming ${file}, which ${damage}`, () => renameSync(file, `${file}.broken`));
    log.error(`${file} ${damage}: the daemon renamed it to ${file}.broken, and starts with initial values`);
    return undefined;
  }
}

/** Runs an operation on the file. @throws {StateFileError} if it fails. */
function attempt<Result>(doing: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw fileError(doing, error);
  }
}

const fileError = (doing: string, error: unknown): StateFileError =>
  new StateFileError(`${doing}: ${fileReason(error)}`, { cause: error });
