/** Translates events to entries of logs. */
import { fileNameOf } from '@rackless/daemon/text/file-name.js';
import { taskEventRegistry } from '../redfish/messages/task-event-registry.js';
import type { ServiceEvent } from './event-bus.js';
import { eventText } from './event-record.js';
import type { LogRecord } from './log-file.js';

/** The name of the log of the service. */
export const SERVICE_LOG = 'service';
/** Maximum length of the text of an entry, in characters. */
const MAX_TEXT_LENGTH = 1_000;

/** Returns the name of an event's log; null if the event is not logged. */
export function logNameOf({ messageId, origin, system }: ServiceEvent): string | null {
  // The log does not contain the progress and the removal of a task, because they are not useful
  // later.
  if (messageId === `${taskEventRegistry}.TaskProgressChanged`) return null;
  if (origin.startsWith('/redfish/v1/TaskService/') && !messageId.startsWith('TaskEvent.')) return null;
  if (system === null) return SERVICE_LOG;
  // An event of a manager belongs to the service's log. An event of its VirtualMedia belongs to the
  // machine's log.
  const isManager = origin.startsWith('/redfish/v1/Managers/') && !origin.includes('/VirtualMedia');
  return isManager ? SERVICE_LOG : fileNameOf(system);
}

/** Returns whether an event reports the removal of a machine, which ends the log of the machine. */
export function isEndOfMachine({ messageId, origin, system }: ServiceEvent): boolean {
  return system !== null && messageId.endsWith('.ResourceRemoved') && /^\/redfish\/v1\/Systems\/[^/]+$/.test(origin);
}

/** Returns the entry of an event. */
export function recordOf(event: ServiceEvent): Omit<LogRecord, 'id'> {
  const { message } = eventText(event);
  const text = event.detail === undefined ? message : `${message} ${event.detail}`;
  return {
    time: event.time.toISOString(),
    messageId: event.messageId,
    args: [...event.messageArgs],
    severity: event.severity,
    message: text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text,
    origin: event.origin,
    ...(event.actor === null ? {} : { actor: { user: event.actor.user, address: event.actor.address } }),
  };
}
