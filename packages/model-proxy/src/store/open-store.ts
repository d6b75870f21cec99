/** Opens the store that a configuration names. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { StoreSettings } from '../settings.js';
import type { OwnedStore, SharedKeyStore } from './store.js';

/** Opens a store in Redis. @throws {StoreError} */
export async function openShared(url: string, { keepDays }: StoreSettings, log: Log): Promise<SharedKeyStore> {
  const { openRedisStore } = await import('./redis/redis-store.js');
  return openRedisStore({ url, keepDays, log });
}

/** Opens a store in files, which this process owns. @throws {StoreError} */
export async function openOwned(folder: string, { keepDays }: StoreSettings, log: Log): Promise<OwnedStore> {
  const { openEmbeddedStore } = await import('./embedded/embedded-store.js');
  return openEmbeddedStore({ folder, keepDays, log });
}
