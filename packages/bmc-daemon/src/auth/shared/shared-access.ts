/**
 * Accounts, roles and settings in the shared store. All of them are one entry, so that a change of
 * a password and a role is atomic. A replica uses its own files only to fill an empty store.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { parseHtpasswd, type HtpasswdEntry } from '../../password-file/htpasswd.js';
import type { PasswordFile } from '../../password-file/password-file.js';
import { SharedRecord } from '../../replicas/shared-record.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { StateFile } from '../../state-file.js';
import { accessStateSchema, type AccessState } from '../access-state.js';
import type { PreparePasswordEdit } from '../account-files.js';

/** The accounts, roles and settings of all replicas. */
export interface SharedAccess {
  readonly store: SharedStore;
  /** The state. Update it only in {@link change}, which stores the updates. */
  readonly state: StateFile<AccessState>;
  /** The same state as `state`. Each update is a {@link change} of its own, which runs in the background. */
  readonly lockState: StateFile<AccessState>;
  readonly passwordFile: PasswordFile;
  readonly preparePasswordEdit: PreparePasswordEdit;
  /**
   * Checks that this replica can read the accounts.
   * @throws {ChangeRefused} if another version of the daemon has stored accounts that this replica cannot
   *   read.
   */
  checkReadable(): void;
  /**
   * Runs a change of the state and the passwords, and stores it. If another replica was faster,
   * runs it again on the new content.
   * @throws {StoreUnavailable}, and the errors of `work`.
   */
  change<Result>(work: () => Result | Promise<Result>): Promise<Result>;
}

/** The content of the entry in the store. */
interface Content {
  /** Text in the format of a password file. */
  readonly passwords: string;
  readonly state: AccessState;
}

const KIND = 'access';
const ID = 'accounts';

/** The explicit type makes the arrays read-only; zod's are not. */
const schema: z.ZodType<Content> = z.object({ passwords: z.string(), state: accessStateSchema }).loose();

/**
 * Opens the shared accounts. If the store has no accounts, stores those of the files.
 * @throws {StoreUnavailable} if the store does not answer, or if this version cannot read the accounts.
 */
export async function openSharedAccess(
  store: SharedStore,
  files: Content,
  log: Pick<Log, 'error' | 'info'>,
): Promise<SharedAccess> {
  const record = new SharedRecord({ store, kind: KIND, id: ID, what: 'the accounts', schema, initial: files, log });
  record.checkReadable();
  await record.seed();
  const update = (change: (state: AccessState) => AccessState): void =>
    record.update((content) => ({ ...content, state: change(content.state) }));
  const stateWith = (changeState: StateFile<AccessState>['update']): StateFile<AccessState> => ({
    path: 'the shared store',
    get state() {
      return record.value.state;
    },
    update: changeState,
  });
  return {
    store,
    state: stateWith(update),
    lockState: stateWith((change) => {
      // The lock is a change of its own, because it must stay if the running change fails.
      record
        .change(() => update(change))
        .catch((error: unknown) => log.error('changing an account in the shared store failed', { error }));
    }),
    passwordFile: passwordFileOf(record),
    preparePasswordEdit: (edit) => ({
      commit: () => record.update((content) => ({ ...content, passwords: edit(content.passwords) })),
      discard: () => undefined,
    }),
    checkReadable: () => record.checkReadable(),
    change: (work) => record.change(work),
  };
}

/**
 * Returns the passwords of the record. If this replica cannot read the accounts, no password is
 * valid.
 */
function passwordFileOf(record: SharedRecord<Content>): PasswordFile {
  let parsed: { readonly text: string; readonly entries: ReadonlyMap<string, HtpasswdEntry> } | undefined;
  return {
    entries() {
      const text = record.isReadable ? record.value.passwords : '';
      if (parsed?.text !== text) parsed = { text, entries: parseHtpasswd(text).entries };
      return parsed.entries;
    },
    refresh: () => undefined,
  };
}
