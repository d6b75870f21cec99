/** Follows changes of the user's role while a page is open. */
import { onConnect, onEvents } from './event-stream.js';
import { pollWithoutEvents } from './poll.js';
import { refreshPrivileges } from './session.js';

const RIGHTS = /^\/redfish\/v1\/AccountService\/(?:Accounts|Roles)\//;

/**
 * Reads the privileges again after events of accounts and roles, when the stream of events connects, and regularly while
 * there is no stream.
 * Returns a function that ends this.
 */
export function followRights(): () => void {
  const stops = [
    // The first connection may come long after the login.
    onConnect(() => void refreshPrivileges()),
    onEvents((events) => {
      const origins = events.map(({ OriginOfCondition }) => OriginOfCondition?.['@odata.id'] ?? '');
      if (origins.some((origin) => RIGHTS.test(origin))) void refreshPrivileges();
    }),
    pollWithoutEvents(refreshPrivileges),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
