/** Finds the clients of virtual keys in the store. */
import { blockedKey, expiredKey } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { digestOf } from '../store/keys.js';
import type { Store } from '../store/store.js';
import type { Client } from './authenticate.js';
import type { FindClient } from './client-keys.js';
import { virtualKeyOf, type VirtualKey } from './virtual-key.js';

/** A client of a virtual key. */
type KeyClient = Client & { readonly key: VirtualKey };

/** Maximum number of cached keys. More would use much memory, and a digest costs only microseconds. */
const MAX_CACHED = 10_000;

/**
 * Makes the function that finds the client of a key.
 * @param now returns milliseconds since 1970.
 */
export function virtualClients(store: Pick<Store, 'keys' | 'keysRevision'>, now: () => number = Date.now): FindClient {
  // Contains only keys that exist, so that wrong keys do not fill the memory.
  const cached = new Map<string, KeyClient>();
  let revision = store.keysRevision;
  const find = (key: string): KeyClient | undefined => {
    if (revision !== store.keysRevision) {
      cached.clear();
      revision = store.keysRevision;
    }
    const found = cached.get(key);
    if (found !== undefined) return found;
    const digest = digestOf(key);
    const stored = store.keys.get(digest);
    if (stored === undefined) return undefined;
    const client = { alias: stored.alias ?? stored.name, key: virtualKeyOf(digest, stored) };
    if (cached.size < MAX_CACHED) cached.set(key, client);
    return client;
  };
  return (key): KeyClient | ProxyError | undefined => {
    const client = find(key);
    if (client === undefined) return undefined;
    const { blocked, expiresAt } = client.key.stored;
    if (blocked) return blockedKey();
    if (expiresAt !== null && now() >= expiresAt) return expiredKey(expiresAt, now());
    return client;
  };
}
