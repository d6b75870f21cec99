/**
 * The login. It survives a reload, and tabs of the same origin share it. The token is in memory, and in the browser's
 * session storage only during a reload (docs/decisions/027).
 */
import { computed, signal } from '@preact/signals';
import { keepLogin } from '../../ui/frame/kept-login.js';
import { forgetWork } from '../../ui/frame/leaving.js';
import { exchange, RedfishFailure } from './wire.js';

/** A privilege of Redfish. */
type Privilege = 'Login' | 'ConfigureManager' | 'ConfigureUsers' | 'ConfigureComponents' | 'ConfigureSelf';

/** A session of the service. */
interface Session {
  readonly token: string;
  /** The session's URI. */
  readonly uri: string;
  readonly user: string;
}

/** The login that has expired. `user` null: the service had no password file before. */
interface Expired {
  readonly user: string | null;
}

/** The state of the login. */
type LoginState =
  | { readonly kind: 'starting' }
  /** The service has no password file: everyone may do everything. */
  | { readonly kind: 'open' }
  | { readonly kind: 'loggedIn'; readonly user: string }
  /** `expired`: the page of this user stays as it is behind the login dialog; null: there is no page yet. */
  | { readonly kind: 'loggedOut'; readonly expired: Expired | null }
  /** The account must change its password first. */
  | { readonly kind: 'passwordChange'; readonly user: string; readonly account: string };

/** The state of the login. */
export const loginState = signal<LoginState>({ kind: 'starting' });

/** Whether pages can send requests, or could before the session expired. */
export const isUsable = computed(() => {
  const { value } = loginState;
  return value.kind === 'open' || value.kind === 'loggedIn' || (value.kind === 'loggedOut' && value.expired !== null);
});

const privileges = signal<ReadonlySet<string>>(new Set());

/** Returns whether the role of the user has a privilege. Components that call this follow changes. */
export function may(privilege: Privilege): boolean {
  return loginState.value.kind === 'open' || privileges.value.has(privilege);
}

const SESSIONS = '/redfish/v1/SessionService/Sessions';

const login = keepLogin<Session>('rackless.session', {
  onForgotten: () => {
    if (loginState.value.kind !== 'starting') loadAgain();
  },
  onLateAnswer: (late) => void takeLateSession(late),
});
/** The user whose input and data the page contains; null: none, or the service needs no login. */
let pageUser: string | null = null;
/** Requests that wait for a new login. */
let waiting: (() => void)[] = [];

/** Returns the token for requests; null: the service needs none, or no user has logged in. */
export const token = (): string | null => login.current()?.token ?? null;
/** Returns the URI of the session of this console; null: there is none. */
export const sessionUri = (): string | null => login.current()?.uri ?? null;

/**
 * Finds out whether a login is needed, and uses the session of the page before a reload or of another tab, if any.
 * @throws {RedfishFailure} if the service does not answer, or with an error other than 401.
 */
export async function startSession(): Promise<void> {
  const asked = login.find();
  // Asks the service while `find` waits for other tabs, unless the page before a reload had a session.
  if (login.current() === null && (await isOpen())) {
    loginState.value = { kind: 'open' };
    // Does not use the session of another tab: it is from a time when the service had a password file.
    void asked.then(login.drop);
    return;
  }
  const found = await asked;
  try {
    if (found !== null) await begin(found);
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.status !== 401) throw error;
    login.drop();
  }
  if (login.current() === null) loginState.value = { kind: 'loggedOut', expired: null };
}

/**
 * Logs in, and repeats the requests that wait for a login. The requests go on waiting if the account must first change
 * its password.
 * If the page belongs to another user, whose session has expired, the page loads again, so that nothing of that
 * other user remains.
 * @throws {RedfishFailure} 401 if the user or the password is wrong; others as {@link exchange}.
 */
export async function logIn(user: string, password: string): Promise<void> {
  const { body, headers, location } = await exchange<{
    readonly '@odata.id': string;
    readonly '@Message.ExtendedInfo'?: readonly {
      readonly MessageId: string;
      readonly MessageArgs?: readonly string[];
    }[];
  }>({ method: 'POST', path: SESSIONS, body: { UserName: user, Password: password } });
  const uri = location === null ? body['@odata.id'] : new URL(location, window.location.origin).pathname;
  const next = { token: headers.get('X-Auth-Token') ?? '', uri, user };
  const change = body['@Message.ExtendedInfo']?.find(({ MessageId }) => MessageId.endsWith('.PasswordChangeRequired'));
  if (change === undefined && pageUser !== null && pageUser !== user) {
    login.set(next);
    loadAgain();
  } else if (change === undefined) await begin(next);
  else {
    login.set(next);
    const account = change.MessageArgs?.[0] ?? `/redfish/v1/AccountService/Accounts/${encodeURIComponent(user)}`;
    loginState.value = { kind: 'passwordChange', user, account };
  }
}

/**
 * Sets a new password for an account that must change its password, and logs in with the new password.
 * @throws {RedfishFailure} if the service rejects the new password, or does not answer; others as {@link logIn}.
 */
export async function changePassword(user: string, account: string, password: string): Promise<void> {
  await exchange({ method: 'PATCH', path: account, token: token(), body: { Password: password } });
  await logIn(user, password);
}

/** Logs out, here and in the other tabs. The page loads again, so that nothing of the user remains. */
export async function logOut(): Promise<void> {
  const last = login.current();
  login.forget();
  loginState.value = { kind: 'starting' };
  if (last !== null) await exchange({ method: 'DELETE', path: last.uri, token: last.token }).catch(() => undefined);
  loadAgain();
}

/**
 * Asks for a new login after a 401, and resolves when the user has logged in.
 * @throws {DOMException} AbortError if the caller aborts while this waits.
 * @param refused the token that the service refused. If another request has got a new token meanwhile, this
 *   resolves at once.
 */
export async function renewLogin(refused: string | null, signal?: AbortSignal): Promise<void> {
  if (token() !== null && token() !== refused) return;
  const { value: before } = loginState;
  login.drop();
  if (before.kind === 'loggedIn') loginState.value = { kind: 'loggedOut', expired: { user: before.user } };
  if (before.kind === 'open') loginState.value = { kind: 'loggedOut', expired: { user: null } };
  await new Promise<void>((resume, reject) => {
    waiting.push(resume);
    signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')), { once: true });
  });
}

/**
 * Uses a session: reads the privileges of its user, and lets waiting requests continue.
 * @param isWanted whether the page still needs the session after this. Default: yes.
 */
async function begin(next: Session, isWanted = (): boolean => true): Promise<void> {
  const found = await readPrivileges(next);
  if (!isWanted()) return;
  login.set(next);
  privileges.value = found;
  pageUser = next.user;
  loginState.value = { kind: 'loggedIn', user: next.user };
  const ready = waiting;
  waiting = [];
  for (const resume of ready) resume();
}

async function readPrivileges({ token, user }: Session): Promise<ReadonlySet<string>> {
  const read = async <Body>(path: string): Promise<Body> => (await exchange<Body>({ method: 'GET', path, token })).body;
  const account = await read<{ readonly Links: { readonly Role: { readonly '@odata.id': string } } }>(
    `/redfish/v1/AccountService/Accounts/${encodeURIComponent(user)}`,
  );
  const role = await read<{ readonly AssignedPrivileges: readonly string[] }>(account.Links.Role['@odata.id']);
  return new Set(role.AssignedPrivileges);
}

let refreshing: Promise<void> | null = null;
let mustRefreshAgain = false;

/**
 * Reads the privileges of the user again, after another administrator may have changed the role. Calls during a
 * refresh cause one further refresh. Never rejects.
 */
export function refreshPrivileges(): Promise<void> {
  if (refreshing !== null) {
    mustRefreshAgain = true;
    return refreshing;
  }
  refreshing = readPrivilegesAgain().finally(() => {
    refreshing = null;
    if (!mustRefreshAgain) return;
    mustRefreshAgain = false;
    void refreshPrivileges();
  });
  return refreshing;
}

async function readPrivilegesAgain(): Promise<void> {
  const session = login.current();
  if (session === null || loginState.value.kind !== 'loggedIn') return;
  // After a failure, the service still refuses what the user may not do.
  const found = await readPrivileges(session).catch(() => null);
  if (found === null || login.current() !== session) return;
  const isSame = found.size === privileges.value.size && [...found].every((each) => privileges.value.has(each));
  if (!isSame) privileges.value = found;
}

/** Returns whether the service answers requests without credentials. @throws as {@link exchange}, except 401. */
async function isOpen(): Promise<boolean> {
  try {
    await exchange({ method: 'GET', path: '/redfish/v1/SessionService' });
    return true;
  } catch (error) {
    if (error instanceof RedfishFailure && error.status === 401) return false;
    throw error;
  }
}

/** Uses the session of a tab that was too busy to answer in time, unless the page already belongs to a user. */
async function takeLateSession(late: Session): Promise<void> {
  const isWanted = (): boolean =>
    token() === null && loginState.value.kind === 'loggedOut' && loginState.value.expired === null;
  // If the session has ended, or the service does not answer, the dialog stays.
  if (isWanted()) await begin(late, isWanted).catch(() => undefined);
}

/** Loads the page again, with the session of this tab if there is one. */
function loadAgain(): void {
  loginState.value = { kind: 'starting' };
  forgetWork();
  location.reload();
}
