/** Combines accounts, roles, sessions and their settings. */
import { performance } from 'node:perf_hooks';
import type { Log } from '@rackless/daemon/log/log.js';
import type { Logins, NewSession, RefusedAttempt, SessionRequest } from '../offers/logins.js';
import type { Refusal } from '../redfish/authenticate.js';
import type { Awaitable } from '../redfish/resource.js';
import type { StateFile } from '../state-file.js';
import type { AccessSettings, AccessState } from './access-state.js';
import { createAccounts, type Accounts } from './accounts.js';
import { createAuthentication, createOpenAuthentication } from './authenticate.js';
import { createIdentityWatch } from './identity-watch.js';
import { createLogin, type LoginOptions } from './login.js';
import type { PreparePasswordEdit } from './account-files.js';
import { preparePasswordFile } from '../password-file/password-file-writer.js';
import { openPasswordFile } from '../password-file/password-file.js';
import { createRoles, type Roles } from './role-store.js';
import { createSessions, type Sessions, type SessionsOptions } from './sessions.js';
import type { SharedAccess } from './shared/shared-access.js';
import { shareAccounts, shareRoles, syncBeforeLogin, syncBeforeAuthentication } from './shared/shared-changes.js';
import { createSharedSessions } from './shared/shared-sessions.js';

/** The access control of the service. */
export interface Access extends Logins {
  /** Null without a password file: every client then has all privileges. */
  readonly accounts: Accounts | null;
  readonly roles: Roles;
  readonly sessions: Omit<Sessions, 'create' | 'use'>;
  readonly settings: AccessSettings;
  /**
   * Changes settings.
   * @throws {StateFileError} if the file cannot be written; with a shared store, {StoreUnavailable} instead. Nothing
   *   changes then.
   */
  changeSettings(change: Partial<AccessSettings>): Awaitable<void>;
}

interface AccessOptions {
  /** The value of EMULATOR_AUTH_FILE: the path of the password file; null: there is none. */
  readonly authFile: string | null;
  /** The result of {@link openAccessState}. */
  readonly state: StateFile<AccessState>;
  /**
   * The shared store of accounts and sessions. If set, the service uses it instead of its own
   * files. Default: none, for a service without replicas.
   */
  readonly shared?: SharedAccess | undefined;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** A monotonic clock in milliseconds. Default: milliseconds since the process started. */
  readonly now?: () => number;
  /**
   * A clock for locks, in milliseconds since 1970: locks are stored, so the monotonic clock does not
   * suffice. It must not jump. Default: the clock of the shared store; without a shared store, the
   * time at the start plus the time that has passed since.
   */
  readonly clock?: () => number;
  /** Default: the values of {@link createLogin}. */
  readonly login?: Pick<LoginOptions, 'after' | 'limits' | 'verify'>;
  /**
   * Default: 500 per user, 2000 in total. Ironic opens a session for each node; ilorest leaves
   * sessions open.
   */
  readonly sessionLimits?: Pick<SessionsOptions, 'perUser' | 'total'>;
}

/**
 * A clock that ignores changes of the host's clock: returns milliseconds since 1970. Such a change
 * must not end a lock, and must not extend it by years.
 */
const steadyClock = (): number => performance.timeOrigin + performance.now();

/**
 * The password hash of all sessions of a service without accounts. It never changes, so it never
 * ends a session.
 */
const NO_ACCOUNT_HASH = '';

/** How long the daemon uses the password file without another check. */
const FILE_CHECK_MS = 1000;

/**
 * Opens the access control. Without a password file, every client has all privileges. Needs no
 * close.
 * @throws {PasswordFileError} if the password file is unreadable or has a faulty line; never with a shared store.
 */
export function openAccess(options: AccessOptions): Access {
  const { authFile, log, shared, now = () => performance.now(), sessionLimits = SESSION_LIMITS } = options;
  const { state: stateFile } = shared ?? options;
  const settings = settingsOf(stateFile, shared);
  const sessionsWith = (hashOf: SessionsOptions['hashOf']): Sessions => {
    const sessionsOptions = { now, idleMs, hashOf, ...sessionLimits };
    return shared === undefined ? createSessions(sessionsOptions) : createSharedSessions(shared.store, sessionsOptions);
  };
  const idleMs = () => stateFile.state.settings.sessionTimeoutSeconds * 1000;

  if (authFile === null) {
    const sessions = sessionsWith(() => NO_ACCOUNT_HASH);
    return withSettings(settings, {
      authenticate: syncBeforeAuthentication(createOpenAuthentication(sessions), shared),
      watchIdentity: createIdentityWatch(null, sessions),
      accounts: null,
      roles: shareRoles(
        createRoles(stateFile, () => false),
        shared,
      ),
      sessions,
      // Without accounts, no login is rejected, so the listener is never called.
      onRefusedLogin: () => () => undefined,
      openSession: async (request, { address }) => {
        await syncBeforeLogin(request, shared);
        return beginSession(sessions, request, { address, passwordChangeRequired: false, log });
      },
    });
  }

  const { passwordFile, preparePasswordEdit } = shared ?? openPasswords(authFile, { log, now });
  const clock = options.clock ?? shared?.store.now.bind(shared.store) ?? steadyClock;
  const accounts = createAccounts({
    preparePasswordEdit,
    passwordFile,
    state: stateFile,
    lockState: shared?.lockState ?? stateFile,
    log,
    clock,
  });
  const refusalListeners = new Set<(attempt: RefusedAttempt) => void>();
  const onRefused = (attempt: RefusedAttempt): void => {
    for (const listener of refusalListeners) listener(attempt);
  };
  const login = createLogin({ accounts, passwordFile, now, onRefused, ...options.login });
  const hashOf = (user: string | null) => {
    const account = user === null ? undefined : accounts.find(user);
    // Does not check the lock: a lock stops new logins only, and open sessions continue.
    return account?.enabled === true ? account.hash : undefined;
  };
  const sessions = sessionsWith(hashOf);
  const authenticate = createAuthentication({ accounts, sessions, login, settings: () => stateFile.state.settings });
  return withSettings(settings, {
    authenticate: syncBeforeAuthentication(authenticate, shared),
    watchIdentity: createIdentityWatch(accounts, sessions),
    accounts: shareAccounts(accounts, shared),
    roles: shareRoles(
      createRoles(stateFile, (user) => accounts.find(user) !== undefined),
      shared,
    ),
    sessions,
    onRefusedLogin(listener) {
      refusalListeners.add(listener);
      return () => void refusalListeners.delete(listener);
    },
    async openSession(request, client) {
      const { user, password } = request;
      if (user === null || password === null) return { refused: 'no credentials' };
      await syncBeforeLogin(request, shared);
      const answer = await login({ user, password: Buffer.from(password) }, client);
      if ('refused' in answer) return { ...answer, hidesBasic: stateFile.state.settings.httpBasicAuth !== 'Enabled' };
      const { passwordChangeRequired } = answer;
      return beginSession(sessions, request, { address: client.address, passwordChangeRequired, log });
    },
  });
}

const SESSION_LIMITS = { perUser: 500, total: 2000 };

/**
 * Opens the password file for reading, and returns it with the function that prepares its edits.
 * @throws {PasswordFileError} if the file is unreadable or any line is faulty.
 */
function openPasswords(file: string, { log, now }: Pick<AccessOptions, 'log'> & { readonly now: () => number }) {
  const preparePasswordEdit: PreparePasswordEdit = (edit) => preparePasswordFile(file, edit);
  return { passwordFile: openPasswordFile(file, { log, now, checkEveryMs: FILE_CHECK_MS }), preparePasswordEdit };
}

/**
 * Begins a session of a client that may log in: its password was right, or the service has no
 * accounts.
 */
async function beginSession(
  sessions: Sessions,
  { user, type = 'Redfish' }: Pick<SessionRequest, 'user' | 'type'>,
  {
    address,
    passwordChangeRequired,
    log,
  }: Pick<AccessOptions, 'log'> & { readonly address: string; readonly passwordChangeRequired: boolean },
): Promise<NewSession | Refusal> {
  const begun = await sessions.create({ user, address, type });
  if (begun === undefined)
    return {
      refused: 'the account was disabled or removed during the login',
      ...(user === null ? {} : { attemptedUser: user }),
    };
  log.info('session created', { session: begun.session.id, type, account: user, address });
  return { ...begun, passwordChangeRequired };
}

/** Returns the current settings, and the function that changes them. */
function settingsOf(stateFile: StateFile<AccessState>, shared: SharedAccess | undefined): SettingsAccess {
  const store = (change: Partial<AccessSettings>): void =>
    stateFile.update((old) => ({ ...old, settings: { ...old.settings, ...change } }));
  return {
    get settings() {
      return stateFile.state.settings;
    },
    changeSettings: (change) => (shared === undefined ? store(change) : shared.change(() => store(change))),
  };
}

type SettingsAccess = Pick<Access, 'settings' | 'changeSettings'>;

/**
 * Adds the other members to the object with the getter `settings`. A spread would call the getter only once, so later
 * changes of the settings would have no effect.
 */
function withSettings(settings: SettingsAccess, otherMembers: Omit<Access, keyof SettingsAccess>): Access {
  return Object.assign(settings, otherMembers);
}
