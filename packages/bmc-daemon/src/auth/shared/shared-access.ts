/**
 * Accounts, roles and settings in the shared store. All of them are one entry, so that a change of a
 * password and a role is atomic. A replica reads its own files only to fill an empty store.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { OperationQueue } from '../../drivers/queue/operation-queue.js';
import { parseHtpasswd, type HtpasswdEntry } from '../../password-file/htpasswd.js';
import type { PasswordFile } from '../../password-file/password-file.js';
import type { SharedStore, StoredEntry } from '../../replicas/shared-store.js';
import { StoreUnavailable } from '../../replicas/store-unavailable.js';
import type { StateFile } from '../../state-file.js';
import { accessStateSchema, type AccessState } from '../access-state.js';
import type { PreparePasswordEdit } from '../account-files.js';

/** The accounts, roles and settings of all replicas. */
export interface SharedAccess {
  readonly store: SharedStore;
  /** Its updates belong to the {@link change} that runs. */
  readonly state: StateFile<AccessState>;
  /** The same state. Its updates are changes of their own, stored in the background. */
  readonly lockState: StateFile<AccessState>;
  readonly passwordFile: PasswordFile;
  readonly preparePasswordEdit: PreparePasswordEdit;
  /**
   * Runs a change of the state and the passwords, and stores it. If another replica was faster, runs it
   * again on the new content.
   * @throws {StoreUnavailable}; what the change throws.
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
const MAX_ATTEMPTS = 5;

/** The explicit type makes the arrays read-only; zod's are not. */
const schema: z.ZodType<Content> = z.object({ passwords: z.string(), state: accessStateSchema });

/**
 * Opens the shared accounts. If the store has no accounts, stores those of the files.
 * @throws {StoreUnavailable}
 */
export async function openSharedAccess(
  store: SharedStore,
  files: Content,
  log: Pick<Log, 'error' | 'info'>,
): Promise<SharedAccess> {
  const shared = new StoredAccess(store, files, log);
  await shared.open();
  return shared;
}

class StoredAccess implements SharedAccess {
  readonly store: SharedStore;
  readonly #log: Pick<Log, 'error' | 'info'>;
  readonly #changes = new OperationQueue();
  #content: Content;
  #revision = 0;
  #isChanging = false;
  #parsed: { readonly text: string; readonly entries: ReadonlyMap<string, HtpasswdEntry> } | undefined;

  readonly state: StateFile<AccessState>;
  readonly lockState: StateFile<AccessState>;
  readonly passwordFile: PasswordFile = {
    entries: () => {
      const { passwords: text } = this.#content;
      if (this.#parsed?.text !== text) this.#parsed = { text, entries: parseHtpasswd(text).entries };
      return this.#parsed.entries;
    },
    refresh: () => undefined,
  };
  readonly preparePasswordEdit: PreparePasswordEdit = (edit) => ({
    commit: () => {
      this.#content = { ...this.#content, passwords: edit(this.#content.passwords) };
    },
    discard: () => undefined,
  });

  constructor(store: SharedStore, files: Content, log: Pick<Log, 'error' | 'info'>) {
    this.store = store;
    this.#log = log;
    this.#content = files;
    const content = () => this.#content;
    const stateWith = (update: StateFile<AccessState>['update']): StateFile<AccessState> => ({
      path: 'the shared store',
      get state() {
        return content().state;
      },
      update,
    });
    this.state = stateWith((change) => this.#update(change));
    this.lockState = stateWith((change) => {
      // Not a part of a change that runs: if that one fails, the lock must stay.
      this.change(() => this.#update(change)).catch((error: unknown) => {
        this.#log.error('changing an account in the shared store failed', { error });
      });
    });
  }

  async open(): Promise<void> {
    this.#load();
    if (this.#revision === 0) await this.#seed();
    this.store.onChange(() => {
      if (!this.#isChanging) this.#load();
      // The store has lost its content. This replica still has it.
      if (this.#revision === 0)
        void this.#seed().catch((error: unknown) => this.#log.error('storing the accounts', { error }));
    });
  }

  change<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return this.#changes.run('', async () => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        await this.store.sync();
        this.#load();
        const outcome = await this.#attempt(work);
        if (outcome !== undefined) return outcome.result;
      }
      throw new StoreUnavailable('changing accounts: other replicas change them at the same time');
    });
  }

  /**
   * Runs a change and stores it.
   * @returns undefined if another replica stored a change first.
   */
  async #attempt<Result>(work: () => Result | Promise<Result>): Promise<{ readonly result: Result } | undefined> {
    const oldContent = this.#content;
    let isStored = false;
    this.#isChanging = true;
    try {
      const result = await work();
      isStored = this.#content === oldContent || (await this.#commit());
      return isStored ? { result } : undefined;
    } finally {
      this.#isChanging = false;
      if (!isStored) this.#content = oldContent;
      this.#load();
    }
  }

  #commit(): Promise<boolean> {
    return this.store.commit([{ kind: KIND, id: ID, expected: this.#revision, value: this.#content }]);
  }

  async #seed(): Promise<void> {
    if (await this.#commit()) this.#log.info('the accounts of this replica were copied to the shared store');
    this.#load();
  }

  #update(change: (state: AccessState) => AccessState): void {
    this.#content = { ...this.#content, state: change(this.#content.state) };
  }

  #load(): void {
    const entry: StoredEntry | undefined = this.store.get(KIND, ID);
    if (entry?.revision === this.#revision) return;
    this.#revision = entry?.revision ?? 0;
    if (entry === undefined) return;
    const parsed = schema.safeParse(entry.value);
    // Damaged accounts must not give access to anyone: no user has a password then.
    if (!parsed.success) this.#log.error('the accounts in the shared store are damaged: no user can log in');
    this.#content = parsed.data ?? { ...this.#content, passwords: '' };
  }
}
