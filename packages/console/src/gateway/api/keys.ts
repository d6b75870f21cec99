/** Virtual keys. All requests throw as {@link get}. */
import { get, post } from './client.js';

/** A key as `/key/list` and `/key/info` show it. Amounts of money are US dollars; rpm and tpm are per minute. */
export interface Key {
  readonly key_name: string;
  readonly key_alias: string | null;
  readonly spend: number;
  readonly max_budget: number | null;
  readonly budget_duration: string | null;
  readonly budget_reset_at: string | null;
  readonly expires: string | null;
  readonly models: readonly string[];
  readonly rpm_limit: number | null;
  readonly tpm_limit: number | null;
  readonly max_parallel_requests: number | null;
  readonly tags: readonly string[];
  readonly team_id: string | null;
  readonly created_at: string;
  readonly status: 'active' | 'expired' | 'revoked';
  readonly blocked: boolean;
}

/** A key in a list. */
export type ListedKey = Key & {
  /** The digest, which identifies the key. */
  readonly token: string;
};

/** One page of keys. */
export interface KeyPage {
  readonly keys: readonly ListedKey[];
  readonly total_count: number;
  readonly current_page: number;
  readonly total_pages: number;
}

/** Settings of a key, as the proxy accepts them. null removes a setting. */
export type KeySettings = Readonly<Record<string, string | number | readonly string[] | null>>;

/** Reads a page of keys, newest first. @param search part of an alias; empty: all keys. */
export function listKeys(page: number, search: string): Promise<KeyPage> {
  const query = new URLSearchParams({ return_full_object: 'true', size: '100', page: String(page) });
  if (search !== '') query.set('search', search);
  return get(`/key/list?${query.toString()}`);
}

/** Creates a key. @returns the key itself, which the proxy shows only once. */
export async function createKey(settings: KeySettings): Promise<string> {
  return (await post<{ readonly key: string }>('/key/generate', settings)).key;
}

/** Changes settings of a key. */
export async function updateKey(token: string, settings: KeySettings): Promise<void> {
  await post('/key/update', { key: token, ...settings });
}

/** Blocks a key, so that the proxy rejects its requests, or ends the block. */
export async function setBlocked(token: string, isBlocked: boolean): Promise<void> {
  await post(isBlocked ? '/key/block' : '/key/unblock', { key: token });
}

/** Deletes a key. */
export async function revokeKey(token: string): Promise<void> {
  await post('/key/delete', { keys: [token] });
}

/** Reads the key of the login. */
export async function readOwnKey(): Promise<Key> {
  return (await get<{ readonly info: Key }>('/key/info')).info;
}

/** Returns the name of a key: its alias, or the end of the key itself. */
export function nameOf({ key_alias: alias, key_name: name }: Pick<Key, 'key_alias' | 'key_name'>): string {
  return alias ?? name;
}
