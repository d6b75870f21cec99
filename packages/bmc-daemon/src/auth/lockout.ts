/** AccountLockoutThreshold and what belongs to it: too many wrong passwords in a row lock an account. */
import type { Log } from '@rackless/daemon/log.js';
import type { StateFile } from '../state-file.js';
import { unlisted, type AccessState } from './access-state.js';

export interface Lockout {
  /** Counts a wrong password; at the threshold the account is locked. */
  count(user: string): void;
  /** A right password, or somebody unlocked it: the count begins anew. */
  forget(user: string): void;
}

export interface LockoutOptions {
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** The counts are in memory, the locks in the state file: a restart unlocks nobody. */
export function createLockout(state: StateFile<AccessState>, { log, clock }: LockoutOptions): Lockout {
  const wrong = new Map<string, { readonly count: number; readonly at: number }>();

  const lock = (user: string): void => {
    const { lockoutSeconds, lockoutResets } = state.state.settings;
    // DSP0266's schema: without the reset, only an administrator unlocks.
    const lockedUntil = lockoutResets ? clock() + lockoutSeconds * 1000 : null;
    try {
      state.update((old) => {
        const kept = old.accounts.find((account) => account.user === user) ?? unlisted(user);
        const others = old.accounts.filter((account) => account.user !== user);
        return { ...old, accounts: [...others, { ...kept, lockedUntil }] };
      });
      log.info('account locked: too many wrong passwords', { account: user });
    } catch (error) {
      // The pacing of attempts goes on slowing down whoever guesses.
      log.error('locking an account failed', { account: user, error });
    }
  };

  return {
    count(user) {
      const { lockoutThreshold, lockoutSeconds, lockoutResetSeconds, lockoutResets } = state.state.settings;
      if (lockoutThreshold === 0 || (lockoutResets && lockoutSeconds === 0)) return;
      const at = clock();
      const before = wrong.get(user);
      const stale = before === undefined || (lockoutResets && at - before.at > lockoutResetSeconds * 1000);
      const count = stale ? 1 : before.count + 1;
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
