/** Follows changes of the user's privileges while a page is open. */
import { onConnect, onEvents } from './event-stream.js';
import { pollWithoutEvents } from './poll.js';
import { refreshPrivileges } from './session.js';

const PRIVILEGE_SOURCES = /^\/redfish\/v1\/AccountService\/(?:Accounts|Roles)\//;

/**
 * Reads the privileges again after events of accounts and roles, and when the stream of events connects. While there is
 * no stream, reads them regularly, if the user attends to the page. Returns a function that stops the reads.
 */
export function followPrivileges(): () => void {
  const stops = [
    // Between the login and the first connection, which may take long, the page misses events of changes.
    onConnect(() => void refreshPrivileges()),
    onEvents((events) => {
      const origins = events.map(({ OriginOfCondition }) => OriginOfCondition?.['@odata.id'] ?? '');
      if (origins.some((origin) => PRIVILEGE_SOURCES.test(origin))) void refreshPrivileges();
    }),
    pollWithoutEvents(refreshPrivileges),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
