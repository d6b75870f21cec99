/** Who may come in and what they may do, put together: accounts, roles, sessions and their settings. */
import { performance } from 'node:perf_hooks';
import type { Log } from '@rackless/daemon/log.js';
import type { Authenticate, Refusal } from '../redfish/authenticate.js';
import type { StateFile } from '../state-file.js';
import type { AccessSettings, AccessState } from './access-state.js';
import { createAccounts, type Accounts } from './accounts.js';
import { createAuthentication, createOpenDoor } from './authenticate.js';
import { createLogin, type Asker, type LoginOptions, type RefusedAttempt } from './login.js';
import { openPasswordFile } from './password-file.js';
import { createRoles, type Roles } from './role-store.js';
import { createSessions, type Session, type Sessions, type SessionsOptions, type SessionType } from './sessions.js';

/** What a client has to show for a session. */
export interface SessionRequest {
  readonly user: string | null;
  readonly password: string | null;
  /** Default: `Redfish`. */
  readonly type?: SessionType;
}

export interface NewSession {
  readonly session: Session;
  /** For the client alone. */
  readonly token: string;
  readonly passwordChangeRequired: boolean;
}

export interface Access {
  /** Of every request. */
  readonly authenticate: Authenticate;
  /** Null without a password file: then nobody has an account, and everybody may do everything. */
  readonly accounts: Accounts | null;
  readonly roles: Roles;
  readonly sessions: Omit<Sessions, 'create' | 'use'>;
  /**
   * Tells of every log-in that is refused from now on, whichever way it came. The listener must not throw.
   * @returns a function that ends it.
   */
  onRefusedLogin(listener: (attempt: RefusedAttempt) => void): () => void;
  /** Logs in, through the same queue as HTTP Basic. */
  openSession(request: SessionRequest, asker: Asker): Promise<NewSession | Refusal>;
  readonly settings: AccessSettings;
  /** @throws {StateFileError} where they can not be kept; nothing is changed then. */
  changeSettings(change: Partial<AccessSettings>): void;
}

export interface AccessOptions {
  /** EMULATOR_AUTH_FILE. */
  readonly authFile: string | null;
  /** Of {@link openAccessState}. */
  readonly state: StateFile<AccessState>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Milliseconds that only go forward; default: those since the process began. */
  readonly now?: () => number;
  /** Milliseconds since 1970, as {@link now} steady. Default: the host's at the start, and what has passed since. */
  readonly clock?: () => number;
  /** Default: those of {@link createLogin}. */
  readonly login?: Pick<LoginOptions, 'after' | 'limits' | 'verify'>;
  /** Default: 500 of one user, 2000 in all. An Ironic opens one for each of its nodes; ilorest forgets to end them. */
  readonly sessionLimits?: Pick<SessionsOptions, 'perUser' | 'inAll'>;
}

/** A host that sets its clock must neither end the locks of accounts nor make them last for years. */
const steadyClock = (): number => performance.timeOrigin + performance.now();

/** How long a look at the password file holds. */
const FILE_CHECK_MS = 1000;

/**
 * Opens what the settings name. Nothing has to be closed.
 * @throws {PasswordFileError} where the password file can not be read or a line of it is at fault.
 */
export function openAccess(options: AccessOptions): Access {
  const { authFile, state, log, now = () => performance.now(), sessionLimits = SESSION_LIMITS } = options;
  const shared = {
    get settings() {
      return state.state.settings;
    },
    changeSettings: (change: Partial<AccessSettings>) =>
      state.update((old) => ({ ...old, settings: { ...old.settings, ...change } })),
  };
  const begin = (
    sessions: Sessions,
    { user, type = 'Redfish' }: Pick<SessionRequest, 'user' | 'type'>,
    address: string,
    change: boolean,
  ): NewSession | Refusal => {
    const begun = sessions.create({ user, address, type });
    if (begun === undefined)
      return { refused: 'the account was closed just now', ...(user === null ? {} : { attemptedUser: user }) };
    log.info('session created', { session: begun.session.id, type, account: user, address });
    return { ...begun, passwordChangeRequired: change };
  };
  const idleMs = () => state.state.settings.sessionTimeoutSeconds * 1000;

  if (authFile === null) {
    const sessions = createSessions({ now, idleMs, hashOf: () => 'nobody asks for a password', ...sessionLimits });
    return withSettings(shared, {
      authenticate: createOpenDoor(sessions),
      accounts: null,
      roles: createRoles(state, () => false),
      sessions,
      // Nobody is asked who he is.
      onRefusedLogin: () => () => undefined,
      openSession: (request, { address }) => Promise.resolve(begin(sessions, request, address, false)),
    });
  }

  const passwordFile = openPasswordFile(authFile, { log, now, checkEveryMs: FILE_CHECK_MS });
  const accounts = createAccounts({ file: authFile, passwordFile, state, log, clock: options.clock ?? steadyClock });
  const refused = new Set<(attempt: RefusedAttempt) => void>();
  const onRefused = (attempt: RefusedAttempt): void => {
    for (const listener of refused) listener(attempt);
  };
  const login = createLogin({ accounts, passwordFile, now, onRefused, ...options.login });
  const hashOf = (user: string | null) => {
    const account = user === null ? undefined : accounts.find(user);
    // A lock keeps guessers out, not whoever is in.
    return account?.enabled === true ? account.hash : undefined;
  };
  const sessions = createSessions({ now, idleMs, hashOf, ...sessionLimits });
  return withSettings(shared, {
    authenticate: createAuthentication({ accounts, sessions, login, settings: () => state.state.settings }),
    accounts,
    roles: createRoles(state, (user) => accounts.find(user) !== undefined),
    sessions,
    onRefusedLogin(listener) {
      refused.add(listener);
      return () => void refused.delete(listener);
    },
    async openSession(request, asker) {
      const { user, password } = request;
      if (user === null || password === null) return { refused: 'no credentials' };
      const answer = await login({ user, password: Buffer.from(password) }, asker);
      if ('refused' in answer) return { ...answer, hidesBasic: state.state.settings.httpBasicAuth !== 'Enabled' };
      return begin(sessions, request, asker.address, answer.passwordChangeRequired);
    },
  });
}

const SESSION_LIMITS = { perUser: 500, inAll: 2000 };

type Shared = Pick<Access, 'settings' | 'changeSettings'>;

/** A spread would read the settings once and for all. */
function withSettings(shared: Shared, rest: Omit<Access, keyof Shared>): Access {
  return Object.assign(shared, rest);
}
