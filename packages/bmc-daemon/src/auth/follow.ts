/** Follows the identity of a client that keeps its connection open. */
import { openClient, type Follow } from '../redfish/authenticate.js';
import type { Accounts } from './accounts.js';
import type { Sessions } from './sessions.js';

/**
 * Returns the `follow` function of a service. It never renews the idle time of a session.
 * @param accounts null without a password file.
 */
export function createFollow(accounts: Pick<Accounts, 'find'> | null, sessions: Pick<Sessions, 'find'>): Follow {
  return ({ user, session }) => {
    const accountOf = () => (user === null ? undefined : accounts?.find(user));
    const hashAtStart = accountOf()?.hash;
    return () => {
      if (session !== null && sessions.find(session) === undefined) return undefined;
      if (accounts === null) return { ...openClient, session };
      const account = accountOf();
      // A session checks the password of its account itself.
      const isCurrent = account?.enabled === true && (session !== null || account.hash === hashAtStart);
      return isCurrent ? { ...account.identity, session } : undefined;
    };
  };
}
