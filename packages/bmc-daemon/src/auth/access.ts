/** Combines accounts, roles, sessions and their settings. */
import { performance } from 'node:perf_hooks';
import type { Log } from '@rackless/daemon/log/log.js';
import type { Logins, NewSession, RefusedAttempt, SessionRequest } from '../offers/logins.js';
import type { Refusal } from '../redfish/authenticate.js';
import type { Awaitable } from '../redfish/resource.js';
import type { StateFile } from '../state-file.js';
import type { AccessSettings, AccessState } from './access-state.js';
import { createAccounts, type Accounts } from './accounts.js';
import { createAuthentication, createOpenDoor } from './authenticate.js';
import { createLogin, type LoginOptions } from './login.js';
import type { PreparePasswords } from './account-files.js';
import { preparePasswordFile } from '../password-file/password-file-writer.js';
import { openPasswordFile } from '../password-file/password-file.js';
import { createRoles, type Roles } from './role-store.js';
import { createSessions, type Sessions, type SessionsOptions } from './sessions.js';
import type { SharedAccess } from './shared/shared-access.js';
import { shareAccounts, shareRoles, syncFor, synchronized } from './shared/shared-changes.js';
import { createSharedSessions } from './shared/shared-sessions.js';

/** Accounts, roles, sessions and their settings. */
export interface Access extends Logins {
  readonly accounts: Accounts | null;
  readonly roles: Roles;
  readonly sessions: Omit<Sessions, 'create' | 'use'>;
  readonly settings: AccessSettings;
  /**
   * Changes settings.
   * @throws {StateFileError} if the file cannot be written; nothing changes then.
   */
  changeSettings(change: Partial<AccessSettings>): Awaitable<void>;
}

interface AccessOptions {
  /** The path of EMULATOR_AUTH_FILE. */
  readonly authFile: string | null;
  /** The result of {@link openAccessState}. */
  readonly state: StateFile<AccessState>;
  /**
   * The shared store of accounts and sessions. If set, the service uses it instead of its own files.
   * Default: none, for a service without replicas.
   */
  readonly shared?: SharedAccess | undefined;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** A monotonic clock in milliseconds. Default: milliseconds since the process started. */
  readonly now?: () => number;
  /**
   * Milliseconds since 1970 by a clock as steady as {@link now}. Default: the clock of the shared
   * store; without one, the time at the start plus the time that has passed since.
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

/** Steady, so that setting the host's clock neither ends locks nor makes them last for years. */
const steadyClock = (): number => performance.timeOrigin + performance.now();

/** Without accounts, all sessions have the same hash, so no session ends by a password change. */
const NO_ACCOUNT_HASH = '';

/** How long the daemon uses the password file without another check. */
const FILE_CHECK_MS = 1000;

/**
 * Opens the access control. Without a password file, every client has all privileges. Needs no
 * close.
 * @throws {PasswordFileError} if the password file is unreadable or has a faulty line.
 */
export function openAccess(options: AccessOptions): Access {
  const { authFile, log, shared, now = () => performance.now(), sessionLimits = SESSION_LIMITS } = options;
  const { state } = shared ?? options;
  const settings = settingsOf(state, shared);
  const sessionsWith = (hashOf: SessionsOptions['hashOf']): Sessions => {
    const all = { now, idleMs, hashOf, ...sessionLimits };
    return shared === undefined ? createSessions(all) : createSharedSessions(shared.store, all);
  };
  const idleMs = () => state.state.settings.sessionTimeoutSeconds * 1000;

  if (authFile === null) {
    const sessions = sessionsWith(() => NO_ACCOUNT_HASH);
    return withSettings(settings, {
      authenticate: synchronized(createOpenDoor(sessions), shared),
      accounts: null,
      roles: shareRoles(
        createRoles(state, () => false),
        shared,
      ),
      sessions,
      // Without accounts, no login is rejected.
      onRefusedLogin: () => () => undefined,
      openSession: async (request, { address }) => {
        await syncFor(request, shared);
        return beginSession(sessions, request, { address, passwordChangeRequired: false, log });
      },
    });
  }

  const { passwordFile, prepare } = shared ?? passwordsOf(authFile, { log, now });
  const clock = options.clock ?? shared?.store.now.bind(shared.store) ?? steadyClock;
  const accounts = createAccounts({ prepare, passwordFile, state, log, clock });
  const refused = new Set<(attempt: RefusedAttempt) => void>();
  const onRefused = (attempt: RefusedAttempt): void => {
    for (const listener of refused) listener(attempt);
  };
  const login = createLogin({ accounts, passwordFile, now, onRefused, ...options.login });
  const hashOf = (user: string | null) => {
    const account = user === null ? undefined : accounts.find(user);
    // A lock stops new logins only; open sessions continue.
    return account?.enabled === true ? account.hash : undefined;
  };
  const sessions = sessionsWith(hashOf);
  const authenticate = createAuthentication({ accounts, sessions, login, settings: () => state.state.settings });
  return withSettings(settings, {
    authenticate: synchronized(authenticate, shared),
    accounts: shareAccounts(accounts, shared),
    roles: shareRoles(
      createRoles(state, (user) => accounts.find(user) !== undefined),
      shared,
    ),
    sessions,
    onRefusedLogin(listener) {
      refused.add(listener);
      return () => void refused.delete(listener);
    },
    async openSession(request, asker) {
      const { user, password } = request;
      if (user === null || password === null) return { refused: 'no credentials' };
      await syncFor(request, shared);
      const answer = await login({ user, password: Buffer.from(password) }, asker);
      if ('refused' in answer) return { ...answer, hidesBasic: state.state.settings.httpBasicAuth !== 'Enabled' };
      const { passwordChangeRequired } = answer;
      return beginSession(sessions, request, { address: asker.address, passwordChangeRequired, log });
    },
  });
}

const SESSION_LIMITS = { perUser: 500, total: 2000 };

/** Returns the passwords of a file. */
function passwordsOf(file: string, { log, now }: Pick<AccessOptions, 'log'> & { readonly now: () => number }) {
  const prepare: PreparePasswords = (edit) => preparePasswordFile(file, edit);
  return { passwordFile: openPasswordFile(file, { log, now, checkEveryMs: FILE_CHECK_MS }), prepare };
}

/** Begins a session of a client whose password is right. */
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

/** Returns the settings and their change. */
function settingsOf(state: StateFile<AccessState>, shared: SharedAccess | undefined): SettingsAccess {
  const change = (changed: Partial<AccessSettings>): void =>
    state.update((old) => ({ ...old, settings: { ...old.settings, ...changed } }));
  return {
    get settings() {
      return state.state.settings;
    },
    changeSettings: (changed) => (shared === undefined ? change(changed) : shared.change(() => change(changed))),
  };
}

type SettingsAccess = Pick<Access, 'settings' | 'changeSettings'>;

/** Adds the settings without a spread, which would read the getter only once. */
function withSettings(settings: SettingsAccess, rest: Omit<Access, keyof SettingsAccess>): Access {
  return Object.assign(settings, rest);
}
