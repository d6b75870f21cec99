/** Work that may outlast a client's patience: done in time it is a plain answer, otherwise it becomes a task. */
import { toRedfishError, type ErrorContext } from './driver-errors.js';
import type { RedfishError } from './errors.js';
import type { Message } from './messages.js';
import type { WriteResult } from './resource.js';
import { taskMonitorUri, taskUri, type TaskStore } from './task-store.js';

export interface LongOperation {
  /** For people, in the Task: `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** What the task's failure is translated with; its `path` is the task's target. */
  readonly context: ErrorContext;
  /**
   * The work. It goes on when the client has been told to ask again, so it must not follow the request's signal.
   * `progress` takes 0 to 100.
   */
  run(progress: (percent: number) => void): Promise<readonly Message[] | undefined>;
}

export interface LongOperationOptions {
  readonly tasks: TaskStore;
  /** How long the request waits before it is answered with 202, in milliseconds. Ansible gives up at 10 s, so 8000. */
  readonly waitMs: number;
  /** Told when a task has failed, as nobody is waiting for it any more. */
  readonly onTaskFailed: (failure: RedfishError, name: string) => void;
}

/**
 * Runs an operation for an action.
 * @returns undefined (204) or its messages when it is done in time, else the task that it has become.
 * @throws what the operation throws, in time; later it is the task's failure.
 */
export async function runLongOperation(
  operation: LongOperation,
  { tasks, waitMs, onTaskFailed }: LongOperationOptions,
): Promise<WriteResult | undefined> {
  let percent: number | undefined;
  let report = (now: number): void => {
    percent = now;
  };
  const work = operation.run((now) => report(now));

  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, waitMs, 'late');
  });
  try {
    const done = await Promise.race([work, patience]);
    if (done !== 'late') return done === undefined ? undefined : { messages: done };
  } finally {
    clearTimeout(timer);
  }

  const { id } = tasks.create({ name: operation.name, targetUri: operation.context.path });
  report = (now) => tasks.progress(id, now);
  if (percent !== undefined) report(percent);
  work.then(
    (messages) => tasks.complete(id, messages ?? []),
    (error: unknown) => {
      const failure = toRedfishError(error, operation.context);
      tasks.fail(id, failure);
      onTaskFailed(failure, operation.name);
    },
  );
  return { task: { monitor: taskMonitorUri(id), task: taskUri(id) } };
}
