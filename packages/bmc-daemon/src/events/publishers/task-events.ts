/** Publishes changes of tasks as events. */
import { taskEventRegistry, taskEventTable } from '../../redfish/messages/task-event-registry.js';
import { machinesOf } from '../../redfish/machine-of.js';
import { messageSeverity, messageText } from '../../redfish/messages/messages.js';
import type { TaskListener, TaskRecord } from '../../redfish/tasks/task-record.js';
import { taskUri, type TaskStore } from '../../redfish/tasks/task-store.js';
import type { Actor, EventBus } from '../event-bus.js';

type Key = keyof typeof taskEventTable;

/** The step of progress events, in percent, so that subscribers do not receive every change. */
const STEP_PERCENT = 10;

/** Starts publishing the changes of the store's tasks. */
export function publishTasks(tasks: Pick<TaskStore, 'onChange'>, events: Pick<EventBus, 'publish'>): void {
  const listener: TaskListener = ({ before, after }) => {
    // Does not publish the removal of a task: the end of the task is already published, and
    // published-writes.ts publishes a client's DELETE.
    if (after === null) return;
    const key = keyOf(before, after);
    if (key === undefined) return;
    const { id, name, owner, cancelledBy, percent, failure } = after;
    const [system = null, ...others] = machinesOf(after);
    const reason = failure === null ? '' : ` ${failure.messages.map(messageText).join(' ')}`;
    events.publish({
      messageId: `${taskEventRegistry}.${key}`,
      messageArgs: key === 'TaskProgressChanged' ? [id, String(percent)] : [id],
      severity: taskEventTable[key].severity,
      origin: taskUri(id),
      // The event of a task of one machine belongs to the log of that machine, all others to the service's log.
      system: others.length === 0 ? system : null,
      actor: actorOf(key, { owner, cancelledBy }),
      time: new Date(),
      detail: `${name}.${reason}`,
    });
  };
  tasks.onChange(listener);
}

/** Returns the client that caused a start or a cancellation. Other events have no client. */
function actorOf(key: Key, { owner, cancelledBy }: Pick<TaskRecord, 'owner' | 'cancelledBy'>): Actor | null {
  if (key === 'TaskCancelled') return cancelledBy;
  return key === 'TaskStarted' ? owner : null;
}

/** Returns the message key for a change; undefined if no event is needed. */
function keyOf(before: TaskRecord | null, after: TaskRecord): Key | undefined {
  if (before === null) return 'TaskStarted';
  if (before.state !== after.state) {
    switch (after.state) {
      case 'Completed':
        return after.messages.every((entry) => messageSeverity(entry) === 'OK')
          ? 'TaskCompletedOK'
          : 'TaskCompletedWarning';
      case 'Exception':
        return 'TaskAborted';
      case 'Cancelled':
        return 'TaskCancelled';
      case 'Running':
      case 'Cancelling':
        return undefined;
    }
  }
  const step = (percent: number | null): number => Math.floor((percent ?? 0) / STEP_PERCENT);
  return step(before.percent) === step(after.percent) ? undefined : 'TaskProgressChanged';
}
