/** Opens the store that a configuration names. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { StoreSettings } from '../settings.js';
import type { OnBudgetEvent } from './budget-events.js';
import type { OwnedStore, SharedKeyStore } from './store.js';

/** Opens a store in Redis. @throws {StoreError} Redis does not answer. */
export async function openShared(
  url: string,
  { keepDays }: StoreSettings,
  log: Log,
  onBudgetEvent: OnBudgetEvent | undefined,
): Promise<SharedKeyStore> {
  const { openRedisStore } = await import('./redis/redis-store.js');
  return openRedisStore({ url, keepDays, log, onBudgetEvent });
}

/**
 * Opens a store in files, which this process owns.
 * @throws {StoreError} the folder is in use, or a file cannot be used.
 */
export async function openOwned(
  folder: string,
  { keepDays }: StoreSettings,
  log: Log,
  onBudgetEvent: OnBudgetEvent | undefined,
): Promise<OwnedStore> {
  const { openEmbeddedStore } = await import('./embedded/embedded-store.js');
  return openEmbeddedStore({ folder, keepDays, log, onBudgetEvent });
}
