/**
 * LiteLLM's requests about virtual keys.
 * @see https://docs.litellm.ai/docs/proxy/virtual_keys
 */
import { randomBytes } from 'node:crypto';
import { invalidParameter } from '../errors/model.js';
import { requestFault } from '../errors/proxy-error.js';
import { digestOf, digestPattern, type StoredKey } from '../store/keys.js';
import type { KeysInChange, Store } from '../store/store.js';
import { changedKey, newKey, parseKeyInput } from './key-input.js';
import { fullKey, shownKey, statusOf } from './key-output.js';
import { filterIn, integerIn, type ManagementRequest } from './request.js';

/** Number of random bytes in a key that the proxy makes. LiteLLM's keys have 16. */
const SECRET_BYTES = 24;
const MIN_CUSTOM_LENGTH = 16;
const MAX_CUSTOM_LENGTH = 256;

/**
 * `POST /key/generate`: creates a key.
 * @returns the key and its data. Later answers contain the key only if the request names it.
 * @throws {ProxyError} 400: a member is invalid, the key or its alias already exists, or the key is the master key.
 *   404: another request deleted the key before its spend was stored.
 */
export async function generateKey({ store, body, clientKeys, now }: ManagementRequest): Promise<object> {
  const input = parseKeyInput(body);
  const secret = secretOf(body['key']);
  if (clientKeys.has(secret)) throw invalidParameter('key', 'is the master key: choose another key');
  const digest = digestOf(secret);
  const key = changedKey(newKey(maskedName(secret), now), input, now);
  const spend = input.spend ?? 0;
  // Until the spend is stored, the key is blocked: a proxy that is killed leaves no key with a fresh budget.
  const first = spend > 0 ? { ...key, blocked: true } : key;
  await store.changeKeys((keys) => {
    if (keys.get(digest) !== undefined) throw requestFault('This key already exists.', { param: 'key' });
    checkAlias(keys, digest, key);
    return { changes: new Map([[digest, first]]), result: undefined };
  });
  if (spend > 0)
    await setFirstSpend(store, { digest, key, spend }).catch(async (error: unknown) => {
      // The client gets an error, so the key must not exist.
      await store.changeKeys(() => ({ changes: new Map([[digest, null]]), result: undefined }));
      throw error;
    });
  const { status: _status, ...shown } = shownKey(key, store.spendOf(digest), now);
  return { ...shown, key: secret, token: digest, token_id: digest, duration: input.duration ?? null };
}

/**
 * Stores the spend of a blocked key, and then the key as the client wants it.
 * @throws {ProxyError} 404: the key was deleted meanwhile.
 */
async function setFirstSpend(
  store: Store,
  { digest, key, spend }: { readonly digest: string; readonly key: StoredKey; readonly spend: number },
): Promise<void> {
  await store.setSpend(digest, spend);
  await store.changeKeys((keys) => {
    if (keys.get(digest) === undefined) throw keyNotFound();
    return { changes: new Map([[digest, key]]), result: undefined };
  });
}

function secretOf(given: unknown): string {
  if (given === undefined || given === null || given === '')
    return `sk-${randomBytes(SECRET_BYTES).toString('base64url')}`;
  if (typeof given !== 'string' || !given.startsWith('sk-'))
    throw invalidParameter('key', "has an invalid format: a virtual key must start with 'sk-'");
  if (given.length < MIN_CUSTOM_LENGTH || given.length > MAX_CUSTOM_LENGTH || !/^[\x21-\x7e]*$/.test(given))
    throw invalidParameter(
      'key',
      `has an invalid format: a virtual key has ${MIN_CUSTOM_LENGTH} to ${MAX_CUSTOM_LENGTH} characters: ASCII without spaces`,
    );
  return given;
}

/** Returns the name of a key for lists, which shows only its end, as in LiteLLM. */
const maskedName = (secret: string) => `sk-...${secret.slice(-4)}`;

function checkAlias(keys: KeysInChange, digest: string, { alias }: StoredKey): void {
  const other = alias === null ? undefined : keys.withAlias(alias);
  if (other === undefined || other === digest) return;
  throw requestFault(
    `Key with alias '${alias ?? ''}' already exists. Unique key aliases across all keys are required.`,
    { type: 'bad_request_error', param: 'key_alias' },
  );
}

/**
 * `POST /key/update`: changes a key.
 * @throws {ProxyError} 404: there is no such key; 400: a member is invalid, or another key has the alias.
 */
export async function updateKey(request: ManagementRequest): Promise<object> {
  return change(request, parseKeyInput(request.body));
}

/** Returns the function of `POST /key/block` (true) or `POST /key/unblock` (false). */
export function blockKey(blocked: boolean) {
  return (request: ManagementRequest): Promise<object> => change(request, { blocked });
}

async function change(
  { store, body, now }: ManagementRequest,
  input: ReturnType<typeof parseKeyInput>,
): Promise<object> {
  const { key: given } = body;
  if (typeof given !== 'string') throw invalidParameter('key', 'is required');
  const digest = digestOfGiven(given);
  const key = await store.changeKeys((keys) => {
    const before = keys.get(digest);
    if (before === undefined) throw keyNotFound();
    const next = changedKey(before, input, now);
    checkAlias(keys, digest, next);
    return { changes: new Map([[digest, next]]), result: next };
  });
  if (typeof input.spend === 'number') await store.setSpend(digest, input.spend);
  return { key: given, ...fullKey(store, digest, key, now) };
}

/**
 * `POST /key/delete`: deletes the given keys, and ignores those that do not exist.
 * @throws {ProxyError} 404: none exists; 400: the request has no keys, or a list is invalid.
 */
export async function deleteKeys({ store, body }: ManagementRequest): Promise<object> {
  const given = listIn(body, 'keys');
  const aliases = listIn(body, 'key_aliases');
  if (given.length + aliases.length === 0) throw invalidParameter('keys', 'or key_aliases is required');
  const deleted = await store.changeKeys((keys) => {
    const found = [
      ...given.map((name) => ({ name, digest: digestOfGiven(name) })),
      ...aliases.map((name) => ({ name, digest: keys.withAlias(name) })),
    ].flatMap(({ name, digest }) => (digest !== undefined && keys.get(digest) !== undefined ? [{ name, digest }] : []));
    if (found.length === 0) throw keyNotFound();
    return { changes: new Map(found.map(({ digest }) => [digest, null])), result: found.map(({ name }) => name) };
  });
  return { deleted_keys: deleted };
}

function listIn(body: Readonly<Record<string, unknown>>, member: string): string[] {
  const value = body[member] ?? [];
  if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string')) return value;
  throw invalidParameter(member, 'must be a list of strings');
}

/**
 * `GET /key/info`: shows a key. A client with a virtual key may read only this key, which is also the default.
 * @throws {ProxyError} 400: the query has no key; 403: the client may not read the key; 404: there is no such key.
 */
export function keyInfo({ store, query, now, key: own }: ManagementRequest): object {
  const given = query.get('key') ?? own?.digest;
  if (given === undefined) throw invalidParameter('key', 'is required');
  const digest = digestOfGiven(given);
  if (own !== undefined && own.digest !== digest)
    throw requestFault("You are not allowed to access this key's info. Your role=unknown", { status: 403 });
  const key = store.keys.get(digest);
  if (key === undefined) throw keyNotFound();
  return { key: given, info: shownKey(key, store.spendOf(digest), now) };
}

const MAX_PAGE_SIZE = 100;

/**
 * `GET /key/list`: a page of the keys that the query selects, the newest first.
 * @throws {ProxyError} 400: the page or its size is invalid.
 */
export function listKeys({ store, query, now }: ManagementRequest): object {
  const page = integerIn(query, 'page', { default: 1, max: 1_000_000 });
  const size = integerIn(query, 'size', { default: 10, max: MAX_PAGE_SIZE });
  const found = [...store.keys].filter(([digest, key]) => isListed(query, digest, key, now)).sort(newestFirst);
  const shown = found.slice((page - 1) * size, page * size);
  const isFull = query.get('return_full_object') === 'true';
  return {
    keys: shown.map(([digest, key]) => (isFull ? fullKey(store, digest, key, now) : digest)),
    total_count: found.length,
    current_page: page,
    total_pages: Math.ceil(found.length / size),
  };
}

/** LiteLLM's filters by groups that this proxy does not have. A request with such a filter gets an empty list. */
const groupsWithoutKeys = ['organization_id', 'project_id', 'agent_id'];

type KeyEntry = readonly [digest: string, key: StoredKey];
const newestFirst = ([, left]: KeyEntry, [, right]: KeyEntry) => right.createdAt - left.createdAt;

function isListed(query: URLSearchParams, digest: string, key: StoredKey, now: number): boolean {
  const matches = (name: string, value: string | null) => (filterIn(query, name) ?? value) === value;
  const search = filterIn(query, 'search')?.toLowerCase();
  return (
    matches('key_alias', key.alias) &&
    matches('key_hash', digest) &&
    matches('user_id', key.userId) &&
    matches('team_id', key.teamId) &&
    groupsWithoutKeys.every((name) => filterIn(query, name) === undefined) &&
    matches('status', statusOf(key, now)) &&
    (search === undefined || digest === search || key.alias?.toLowerCase().includes(search) === true)
  );
}

/** Returns the digest of the key that a client names. @param given the key, or its digest. */
export function digestOfGiven(given: string): string {
  return digestPattern.test(given) ? given : digestOf(given);
}

function keyNotFound() {
  return requestFault('Key not found in database', { status: 404, type: 'not_found_error', param: 'key' });
}
