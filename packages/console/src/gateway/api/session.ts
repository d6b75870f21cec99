/** The login with the master key or a virtual key (docs/decisions/027). */
import { computed, signal } from '@preact/signals';
import { keepLogin } from '../../ui/frame/kept-login.js';
import { ApiFailure, exchange } from './wire.js';

/** The rights of the user. */
export type Role =
  /** The proxy asks for no key: everyone may use the models. */
  | { readonly kind: 'open' }
  /** `hasStore`: the proxy has virtual keys and counts their usage. */
  | { readonly kind: 'admin'; readonly hasStore: boolean }
  | { readonly kind: 'key'; readonly name: string };

/** The state of the login. */
type LoginState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'loggedIn'; readonly role: Role }
  /** `role`: the role of the ended login, whose page stays behind the dialog. null: no user has logged in before. */
  | { readonly kind: 'loggedOut'; readonly role: Role | null };

/** The state of the login. */
export const loginState = signal<LoginState>({ kind: 'starting' });

/** The role of the user, also while an ended login is renewed; null: no user has logged in. */
export const role = computed((): Role | null => {
  const { value } = loginState;
  return value.kind === 'starting' ? null : value.role;
});

/** Returns whether the user may create, change and delete keys, and see the spend of all keys. */
export const mayManage = (): boolean => role.value?.kind === 'admin' && role.value.hasStore;

const login = keepLogin<string>('rackless.gateway', {
  onForgotten: () => location.reload(),
  onLateAnswer: (key) => void takeLateLogin(key),
});
let waiting: (() => void)[] = [];

/** Returns the key for requests; null: the proxy needs none, or no user has logged in. */
export const currentKey = (): string | null => login.current();

/**
 * Finds out whether a key is needed, and uses the login of the page before a reload or of another tab, if any.
 * @throws {ApiFailure} if the proxy does not answer, or cannot check the key of that login.
 */
export async function startSession(): Promise<void> {
  const found = await login.find();
  if (found !== null) {
    try {
      begin(found, await roleOf(found));
      return;
    } catch (error) {
      if (!isRefused(error)) throw error;
      login.drop();
    }
  }
  loginState.value = (await isOpen())
    ? { kind: 'loggedIn', role: { kind: 'open' } }
    : { kind: 'loggedOut', role: null };
}

/**
 * Logs in, and repeats the requests that wait for a login.
 * @throws {ApiFailure} 401 if the key is wrong, expired or blocked; others if the proxy cannot check the key.
 */
export async function logIn(key: string): Promise<void> {
  begin(key, await roleOf(key));
}

/** Logs out, here and in the other tabs. Loads the page again, so that nothing of the user stays in memory. */
export function logOut(): void {
  login.forget();
  location.reload();
}

/**
 * Asks for a new login after a 401, and resolves when the user has logged in.
 * @param refused the key that the proxy refused. If the user has logged in with another key meanwhile, this
 *   resolves at once.
 */
export async function renewLogin(refused: string | null): Promise<void> {
  if (login.current() !== null && login.current() !== refused) return;
  login.drop();
  loginState.value = { kind: 'loggedOut', role: role.value };
  await new Promise<void>((resolve) => waiting.push(resolve));
}

/** Returns whether the proxy refused the key of a request. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiFailure && error.status === 401;
}

/** Logs in with the key of another tab, unless the page already belongs to a user. */
async function takeLateLogin(key: string): Promise<void> {
  const isUnused = (): boolean => loginState.value.kind === 'loggedOut' && loginState.value.role === null;
  if (!isUnused()) return;
  // The dialog stays if the proxy does not accept the key.
  const found = await roleOf(key).catch(() => null);
  if (found !== null && isUnused()) begin(key, found);
}

function begin(key: string, found: Role): void {
  login.set(key);
  loginState.value = { kind: 'loggedIn', role: found };
  const ready = waiting;
  waiting = [];
  for (const resume of ready) resume();
}

/** Finds out what a key may do. @throws {ApiFailure} 401 if the key is not valid; others as {@link exchange}. */
async function roleOf(key: string): Promise<Role> {
  try {
    await exchange({ method: 'GET', path: '/key/list?size=1', key });
    return { kind: 'admin', hasStore: true };
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 501) return { kind: 'admin', hasStore: false };
    if (!isRefused(error)) throw error;
  }
  // The proxy refused the list, which only the master key may read. So this is a virtual key, which may read itself.
  const { info } = await exchange<{
    readonly info: { readonly key_alias: string | null; readonly key_name: string };
  }>({ method: 'GET', path: '/key/info', key });
  return { kind: 'key', name: info.key_alias ?? info.key_name };
}

/** Returns whether the proxy answers requests without a key. @throws as {@link exchange}, except error answers. */
async function isOpen(): Promise<boolean> {
  try {
    await exchange({ method: 'GET', path: '/v1/models', key: null });
    return true;
  } catch (error) {
    if (error instanceof ApiFailure && error.status !== 0) return false;
    throw error;
  }
}
