/** Keys and requests for the tests of stores. */
import { newKey } from '../../src/management/key-input.js';
import type { StoredKey } from '../../src/store/keys.js';
import type { Store } from '../../src/store/store.js';
import type { RequestUsage, UsageRow } from '../../src/store/usage.js';

/** Returns a key without limits. @param more replaces members. */
export function keyOf(more: Partial<StoredKey> = {}): StoredKey {
  return { ...newKey('sk-...last', 1), ...more };
}

/** Stores a key. @param key null deletes it. */
export function put(store: Store, digest: string, key: StoredKey | null): Promise<void> {
  return store.changeKeys(() => ({ changes: new Map([[digest, key]]), result: undefined }));
}

/** Returns a request of the key `k`. @param more replaces members. */
export function requestOf(more: Partial<RequestUsage> = {}): RequestUsage {
  const tokens = { inputTokens: 10, outputTokens: 2, totalTokens: 12 };
  return { key: 'k', model: 'm', tags: [], requests: 1, failed: false, cost: 0.5, ...tokens, ...more };
}

/** Returns the rows of some days in one list. @param from first day: `2026-11-01`; @param to last day. */
export async function readUsage(store: Store, from: string, to: string): Promise<readonly UsageRow[]> {
  const rows: UsageRow[] = [];
  for await (const ofDay of store.usageByDay(from, to)) rows.push(...ofDay);
  return rows;
}
