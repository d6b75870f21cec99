/** Follows changes of the user's role while a page is open. */
import { onConnect, onEvents } from './event-stream.js';
import { refreshPrivileges } from './session.js';

const RIGHTS = /^\/redfish\/v1\/AccountService\/(?:Accounts|Roles)\//;

/**
 * Reads the privileges again after events of accounts and roles, and after a loss of the stream of events.
 * Returns a function that ends this.
 */
export function followRights(): () => void {
  // The log-in has just read the privileges.
  let isFirst = true;
  const stops = [
    onConnect(() => {
      if (!isFirst) void refreshPrivileges();
      isFirst = false;
    }),
    onEvents((events) => {
      const origins = events.map(({ OriginOfCondition }) => OriginOfCondition?.['@odata.id'] ?? '');
      if (origins.some((origin) => RIGHTS.test(origin))) void refreshPrivileges();
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
