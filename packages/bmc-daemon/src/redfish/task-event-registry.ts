/**
 * The messages of the TaskEvent registry that we send, in our own words: a table and nothing else. Keys, arguments and severities
 * are the registry's (a test compares them).
 * @see https://redfish.dmtf.org/registries/TaskEvent.1.0.5.json
 */
import { eventMessage, none } from './event-message.js';

/** `MessageId` is `<registry>.<key>`. */
export const taskEventRegistry = 'TaskEvent.1.0';

/** Every message we send, by its key in the registry. */
// prettier-ignore
export const taskEventTable = {
  TaskStarted: eventMessage('OK', ['string'], 'The task %1 has begun.', none),
  TaskCompletedOK: eventMessage('OK', ['string'], 'The task %1 is done.', none),
  TaskCompletedWarning: eventMessage('Warning', ['string'], 'The task %1 is done, with warnings.', 'Read the messages of the task.'),
  TaskAborted: eventMessage('Critical', ['string'], 'The task %1 has failed.', 'Read the messages of the task.'),
  TaskCancelled: eventMessage('Warning', ['string'], 'The task %1 was cancelled by a client.', none),
  TaskProgressChanged: eventMessage('OK', ['string', 'number'], 'The task %1 is %2 percent done.', none),
} as const;
