/** Locks an account after too many wrong passwords in a row (AccountLockoutThreshold). */
import type { Log } from '@rackless/daemon/log/log.js';
import type { StateFile } from '../state-file.js';
import { defaultState, type AccessState } from './access-state.js';

/** Counts wrong passwords and locks accounts. */
export interface Lockout {
  /** Counts a wrong password, and locks the account at the threshold. Does nothing if the settings allow no locks. */
  count(user: string): void;
  /** Resets the count of wrong passwords. */
  forget(user: string): void;
}

interface LockoutOptions {
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/**
 * Creates the lockout of a service. Counts are in memory, so each replica counts by itself. Locks are in the state file
 * or in the shared store, so a restart does not unlock accounts.
 */
export function createLockout(state: StateFile<AccessState>, { log, clock }: LockoutOptions): Lockout {
  const wrong = new Map<string, { readonly count: number; readonly at: number }>();
  shortenLocks(state, { log, clock });

  const lock = (user: string): void => {
    const { lockoutSeconds, lockoutResets } = state.state.settings;
    // DMTF's schema: if AccountLockoutCounterResetEnabled is false, only an administrator unlocks
    // the account.
    const lockedUntil = lockoutResets ? clock() + lockoutSeconds * 1000 : null;
    try {
      state.update((old) => {
        const stored = old.accounts.find((account) => account.user === user) ?? defaultState(user);
        const otherAccounts = old.accounts.filter((account) => account.user !== user);
        return { ...old, accounts: [...otherAccounts, { ...stored, lockedUntil }] };
      });
      log.info('account locked: too many wrong passwords', { account: user });
    } catch (error) {
      // The account stays unlocked. `AttemptQueue` delays further attempts.
      log.error('locking an account failed', { account: user, error });
    }
  };

  return {
    count(user) {
      const { lockoutThreshold, lockoutSeconds, lockoutResetSeconds, lockoutResets } = state.state.settings;
      if (lockoutThreshold === 0 || (lockoutResets && lockoutSeconds === 0)) return;
      const at = clock();
      const lastWrong = wrong.get(user);
      const stale = lastWrong === undefined || (lockoutResets && at - lastWrong.at > lockoutResetSeconds * 1000);
      const count = stale ? 1 : lastWrong.count + 1;
      if (count < lockoutThreshold) {
        wrong.set(user, { count, at });
        return;
      }
      wrong.delete(user);
      lock(user);
    },
    forget: (user) => void wrong.delete(user),
  };
}

/**
 * Shortens locks of an earlier run to the length of a new lock. The host's clock may have been
 * wrong by years when the account was locked. Without this, the account would stay locked for
 * years.
 */
function shortenLocks(state: StateFile<AccessState>, { log, clock }: LockoutOptions): void {
  const latest = clock() + state.state.settings.lockoutSeconds * 1000;
  const isTooLong = (until: number | null | undefined): boolean => typeof until === 'number' && until > latest;
  try {
    state.update((old) => {
      if (!old.accounts.some(({ lockedUntil }) => isTooLong(lockedUntil))) return old;
      const accounts = old.accounts.map((stored) =>
        isTooLong(stored.lockedUntil) ? { ...stored, lockedUntil: latest } : stored,
      );
      return { ...old, accounts };
    });
  } catch (error) {
    log.error('shortening the locks of accounts failed', { error });
  }
}
