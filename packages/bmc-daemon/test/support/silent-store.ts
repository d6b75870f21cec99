/** A store of replicas, for tests that need no other replica. */
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';

/** An empty store that accepts all commits, rejects scripts, and never calls its listeners. All replicas are living. */
export const silentStore: SharedStore = {
  replica: 'this',
  sync: () => Promise.resolve(),
  get: () => undefined,
  list: () => [],
  commit: () => Promise.resolve(true),
  onChange: () => undefined,
  onHeartbeat: () => undefined,
  onReconnect: () => undefined,
  living: (replicas) => Promise.resolve(new Set(replicas)),
  run: () => Promise.reject(new Error('no scripts')),
  listen: () => Promise.resolve(),
  now: () => 0,
  close: () => Promise.resolve(),
};
