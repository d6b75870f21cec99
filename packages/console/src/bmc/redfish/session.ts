/**
 * The log-in. A reload and other tabs of the same origin keep it. The token is in memory, and in the browser's session
 * storage only during a reload (docs/decisions/027).
 */
import { computed, signal } from '@preact/signals';
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

/** The log-in that has expired. `user` null: the service had no password file before. */
interface Expired {
  readonly user: string | null;
}

/** The state of the log-in. */
type LoginState =
  | { readonly kind: 'starting' }
  /** The service has no password file: everyone may do everything. */
  | { readonly kind: 'open' }
  | { readonly kind: 'loggedIn'; readonly user: string }
  /** `expired`: the page of this user stays as it is behind the log-in dialog; null: there is no page yet. */
  | { readonly kind: 'loggedOut'; readonly expired: Expired | null }
  /** The account must change its password first. */
  | { readonly kind: 'passwordChange'; readonly user: string; readonly account: string };

/** The state of the log-in. */
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

const STORED = 'rackless.session';
const SESSIONS = '/redfish/v1/SessionService/Sessions';
/** How long a new tab waits for the token of another tab, in milliseconds. */
const TAB_ANSWER_MS = 200;

let session: Session | null = null;
/** The user whose input and data the page contains; null: none, or the service needs no log-in. */
let pageUser: string | null = null;
/** Requests that wait for a new log-in. */
let waiting: (() => void)[] = [];
const tabs = new BroadcastChannel('rackless.session');

/** Returns the token for requests; null: none is needed, or nobody has logged in. */
export const token = (): string | null => session?.token ?? null;
/** Returns the URI of the session of this console; null: there is none. */
export const sessionUri = (): string | null => session?.uri ?? null;

/** Finds out whether a log-in is needed, and takes over the session of a reloaded page or of another tab. */
export async function startSession(): Promise<void> {
  addEventListener('pagehide', store);
  addEventListener('pageshow', (event) => {
    if (event.persisted) takeStored();
  });
  const found = takeStored() ?? (await askForSession());
  tabs.addEventListener('message', answerTabs);
  if (found === 'open' || found === null) {
    loginState.value = found === 'open' ? { kind: 'open' } : { kind: 'loggedOut', expired: null };
    return;
  }
  try {
    await begin(found);
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.status !== 401) throw error;
    session = null;
    loginState.value = { kind: 'loggedOut', expired: null };
  }
}

/**
 * Asks the other tabs and the service at the same time.
 * @returns the session of another tab; `open` if the service needs no log-in; null: neither.
 */
async function askForSession(): Promise<Session | 'open' | null> {
  const asked = askTabs();
  return (await isOpen()) ? 'open' : await asked;
}

/**
 * Logs in, and repeats the requests that wait for a log-in. If the session of another user has expired, the page
 * loads again, so that nothing of this user remains.
 * @throws {RedfishFailure} 401 if the user or the password is wrong.
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
    session = next;
    loadAgain();
  } else if (change === undefined) await begin(next);
  else {
    session = next;
    const account = change.MessageArgs?.[0] ?? `/redfish/v1/AccountService/Accounts/${encodeURIComponent(user)}`;
    loginState.value = { kind: 'passwordChange', user, account };
  }
}

/** Sets a new password for an account that must change its password, and logs in with the new password. */
export async function changePassword(user: string, account: string, password: string): Promise<void> {
  await exchange({ method: 'PATCH', path: account, token: token(), body: { Password: password } });
  await logIn(user, password);
}

/** Logs out, here and in the other tabs. The page loads again, so that nothing of the user remains. */
export async function logOut(): Promise<void> {
  const last = session;
  session = null;
  loginState.value = { kind: 'starting' };
  tabs.postMessage({ kind: 'loggedOut' });
  if (last !== null) await exchange({ method: 'DELETE', path: last.uri, token: last.token }).catch(() => undefined);
  loadAgain();
}

/**
 * Asks for a new log-in after a 401, and resolves when the user has logged in.
 * @throws {DOMException} AbortError if the caller aborts.
 * @param refused the token that the service refused. If another request has got a new token meanwhile, this
 *   resolves at once.
 */
export async function renewLogin(refused: string | null, signal?: AbortSignal): Promise<void> {
  if (session !== null && session.token !== refused) return;
  const { value: before } = loginState;
  session = null;
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
  session = next;
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

/** Returns whether the service answers requests without credentials. */
async function isOpen(): Promise<boolean> {
  try {
    await exchange({ method: 'GET', path: '/redfish/v1/SessionService' });
    return true;
  } catch (error) {
    if (error instanceof RedfishFailure && error.status === 401) return false;
    throw error;
  }
}

/** Keeps the session for the next page of this tab. The browser calls this before a reload. */
function store(): void {
  if (session !== null) sessionStorage.setItem(STORED, JSON.stringify(session));
}

function takeStored(): Session | null {
  const text = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  return text === null ? null : (JSON.parse(text) as Session); // written by `store`
}

type TabMessage = { readonly kind: 'ask' | 'loggedOut' } | { readonly kind: 'session'; readonly session: Session };

/** Asks the other tabs for their session. Only pages of the same scheme, host and port get the question. */
function askTabs(): Promise<Session | null> {
  return new Promise((resolve) => {
    const finish = (found: Session | null): void => {
      clearTimeout(timer);
      tabs.removeEventListener('message', listen);
      resolve(found);
    };
    const listen = ({ data }: MessageEvent<TabMessage>): void => {
      if (data.kind === 'session') finish(data.session);
    };
    const timer = setTimeout(() => finish(null), TAB_ANSWER_MS);
    tabs.addEventListener('message', listen);
    tabs.postMessage({ kind: 'ask' });
  });
}

function answerTabs({ data }: MessageEvent<TabMessage>): void {
  if (data.kind === 'ask' && session !== null) tabs.postMessage({ kind: 'session', session });
  if (data.kind === 'session') void takeLateSession(data.session);
  if (data.kind !== 'loggedOut' || loginState.value.kind === 'starting') return;
  session = null;
  loginState.value = { kind: 'starting' };
  loadAgain();
}

/** Uses the session of a tab that was too busy to answer in time, unless the page already belongs to a user. */
async function takeLateSession(late: Session): Promise<void> {
  const isWanted = (): boolean =>
    session === null && loginState.value.kind === 'loggedOut' && loginState.value.expired === null;
  // If the session has ended, or the service does not answer, the dialog stays.
  if (isWanted()) await begin(late, isWanted).catch(() => undefined);
}

/** Loads the page again, with the session of this tab if there is one. */
function loadAgain(): void {
  location.reload();
}
