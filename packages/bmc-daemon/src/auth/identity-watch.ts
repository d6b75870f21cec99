/**
 * Checks whether the client of an open connection may still use it: a WebSocket, event stream or
 * console.
 */
import { fullAccess, type WatchIdentity } from '../redfish/authenticate.js';
import type { Accounts } from './accounts.js';
import type { Sessions } from './sessions.js';

/**
 * Returns the `watchIdentity` function of a service. Its checks return the current identity, or undefined if the client
 * may no longer use the connection. They never renew the idle time of a session.
 * @param accounts null without a password file.
 */
export function createIdentityWatch(
  accounts: Pick<Accounts, 'find'> | null,
  sessions: Pick<Sessions, 'find'>,
): WatchIdentity {
  return ({ user, session }) => {
    const accountOf = () => (user === null ? undefined : accounts?.find(user));
    const hashAtStart = accountOf()?.hash;
    return () => {
      if (session !== null && sessions.find(session) === undefined) return undefined;
      if (accounts === null) return { ...fullAccess, session };
      const account = accountOf();
      // A new password also ends the account's sessions, so only a client without a session needs this check.
      const isCurrent = account?.enabled === true && (session !== null || account.hash === hashAtStart);
      return isCurrent ? { ...account.identity, session } : undefined;
    };
  };
}
