/** Tests the accounts of two replicas with a real Redis. */
import { hash } from 'bcrypt';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openAccess } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import type { Accounts } from '../../src/auth/accounts.js';
import { openSharedAccess, type SharedAccess } from '../../src/auth/shared/shared-access.js';
import { openSharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { waitFor } from '../daemon/process.js';
import { stateInMemory, unpaced } from '../support/services.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';

/** The first wrong password locks the account. */
const state = { ...initialAccessState, settings: { ...initialAccessState.settings, lockoutThreshold: 1 } };
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

let redis: PrivateRedis;
let opened: { readonly shared: SharedAccess; readonly accounts: Accounts | null }[];
beforeEach(async () => {
  redis = await startRedis();
  const passwords = `admin:${await hash('secret', 4)}\neve:${await hash('apple', 4)}\n`;
  opened = [];
  for (const store of [
    await openSharedStore(redis.url, 'bmc-daemon', log),
    await openSharedStore(redis.url, 'bmc-daemon', log),
  ]) {
    const shared = await openSharedAccess(store, { passwords, state }, log);
    const options = { authFile: 'users', state: stateInMemory(state), shared, log, login: unpaced };
    opened.push({ shared, accounts: openAccess(options).accounts });
  }
});
afterEach(async () => {
  for (const { shared } of opened) await shared.store.close();
  await redis.stop();
});

it.each([
  ['fails', () => Promise.reject(new Error('rejected'))],
  ['succeeds', () => Promise.resolve()],
])('a service keeps a lock that a wrong password sets during a change of accounts that %s', async (_outcome, end) => {
  const [a, b] = opened;
  const change = a?.shared.change(async () => {
    a.accounts?.countWrongPassword('eve');
    await end();
  });
  await change?.catch(() => undefined);
  const isLocked = await waitFor(
    () => (b?.accounts?.find('eve')?.locked === true ? true : undefined),
    () => 'the lock was lost',
  );
  expect(isLocked).toBe(true);
});
