/** Work that may outlast a client's patience: done in time it is a plain answer, otherwise it becomes a task. */
import { toRedfishError, type ErrorContext } from './driver-errors.js';
import type { RedfishError } from './errors.js';
import type { JsonObject } from './json.js';
import type { Message } from './messages.js';
import type { Requester, WriteResult } from './resource.js';
import { taskMonitorUri, taskUri, type TaskMethod, type TaskStore } from './task-store.js';

/** What the work is given. */
export interface OperationControl {
  /** Takes 0 to 100. */
  readonly progress: (percent: number) => void;
  /** Aborted when a client cancels the task. */
  readonly signal: AbortSignal;
}

/** What is to be said when it is done: messages, or what was asked for. */
export type OperationResult = readonly Message[] | { readonly response: JsonObject };

/** What is to be done, and how it is told of. */
export interface LongOperation {
  /** For people, in the Task: `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** What was asked for it with. Default: POST for an action, else PATCH. */
  readonly method?: TaskMethod;
  /** Who asks; the task's events and its machine's log say so. */
  readonly requester?: Pick<Requester, 'user' | 'address'>;
  /** What the task's failure is translated with; its `path` is the task's target. */
  readonly context: ErrorContext;
  /** Whether the work heeds its signal. One that does not can not be cancelled. Default false. */
  readonly cancellable?: boolean;
  /** The work. It goes on when the client has been told to ask again, so it must not follow the request's signal. */
  run(control: OperationControl): Promise<OperationResult | undefined>;
}

/** What holds for all of them. */
export interface LongOperationOptions {
  readonly tasks: TaskStore;
  /** How long the request waits before it is answered with 202, in milliseconds. Ansible gives up at 10 s, so 8000. */
  readonly waitMs: number;
  /** Told when a task has failed, as nobody is waiting for it any more. */
  readonly onTaskFailed: (failure: RedfishError, name: string) => void;
}

/**
 * Runs an operation for an action.
 * @returns undefined (204) or its result when it is done in time, else the task that it has become.
 * @throws what the operation throws, in time; later it is the task's failure.
 */
export async function runLongOperation(
  operation: LongOperation,
  { tasks, waitMs, onTaskFailed }: LongOperationOptions,
): Promise<WriteResult | undefined> {
  const { name, context, requester, cancellable = false } = operation;
  const { method = context.action === undefined ? 'PATCH' : 'POST' } = operation;
  const cancelling = new AbortController();
  let percent: number | undefined;
  let report = (now: number): void => {
    percent = now;
  };
  const work = operation.run({ progress: (now) => report(now), signal: cancelling.signal });

  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, waitMs, 'late');
  });
  try {
    const done = await Promise.race([work, patience]);
    if (done !== 'late') return done === undefined || 'response' in done ? done : { messages: done };
  } finally {
    clearTimeout(timer);
  }

  const { id } = tasks.create({
    name,
    targetUri: context.path,
    method,
    owner: requester === undefined ? undefined : { user: requester.user, address: requester.address },
    cancel: cancellable ? () => cancelling.abort(new Cancelled(name)) : undefined,
  });
  report = (now) => tasks.progress(id, now);
  if (percent !== undefined) report(percent);
  work.then(
    // A cancellation may come too late: what is done is done, and the task says so.
    (done = []) => {
      if ('response' in done) tasks.complete(id, [], done.response);
      else tasks.complete(id, done);
    },
    (error: unknown) => {
      if (cancelling.signal.aborted && error === cancelling.signal.reason) {
        tasks.cancelled(id);
        return;
      }
      const failure = toRedfishError(error, context);
      tasks.fail(id, failure);
      onTaskFailed(failure, name);
    },
  );
  return { task: { monitor: taskMonitorUri(id), task: taskUri(id) } };
}

/** Why the work stopped. */
class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor(operation: string) {
    super(`${operation}: cancelled by a client`);
  }
}
