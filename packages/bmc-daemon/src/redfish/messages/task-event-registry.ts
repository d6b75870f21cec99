/**
 * The messages of the TaskEvent registry that the service sends, with our own texts. A test
 * compares keys, arguments and severities with DMTF's registry.
 * @see https://redfish.dmtf.org/registries/TaskEvent.1.0.5.json
 */
import { eventMessage, noAction } from './event-message.js';

/** The first part of each `MessageId`: `<registry>.<key>`. */
export const taskEventRegistry = 'TaskEvent.1.0';

/** All messages that the service sends, by registry key. */
// prettier-ignore
export const taskEventTable = {
  TaskStarted: eventMessage('OK', ['string'], 'The task %1 has started.', noAction),
  TaskCompletedOK: eventMessage('OK', ['string'], 'The task %1 has completed.', noAction),
  TaskCompletedWarning: eventMessage('Warning', ['string'],
    'The task %1 has completed with warnings.', 'Read the messages of the task.'),
  TaskAborted: eventMessage('Critical', ['string'], 'The task %1 has failed.', 'Read the messages of the task.'),
  TaskCancelled: eventMessage('Warning', ['string'], 'The task %1 was cancelled by a client.', noAction),
  TaskProgressChanged: eventMessage('OK', ['string', 'number'], 'The task %1 is %2 percent done.', noAction),
} as const;
