/**
 * Operations that may take longer than a client waits: fast ones give a plain answer, slow ones
 * become a task.
 */
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { JsonObject } from '../json.js';
import { toRedfishError, type ErrorContext } from '../messages/driver-errors.js';
import type { RedfishError } from '../messages/errors.js';
import type { Message } from '../messages/messages.js';
import type { Requester, WriteResult } from '../resource.js';
import type { TaskMethod } from './task-record.js';
import { taskMonitorUri, taskUri, type TaskStore } from './task-store.js';

/** The controls that a running operation receives. */
interface OperationControl {
  /** Reports progress, 0 to 100. */
  readonly progress: (percent: number) => void;
  /** Aborted when a client cancels the task. */
  readonly signal: AbortSignal;
}

/** The result of an operation: messages, or the response that the client requested. */
type OperationResult = readonly Message[] | { readonly response: JsonObject };

/** An operation and its description. */
export interface LongOperation {
  /** The Task's name, for people, such as `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** The HTTP method of the request. Default: POST for an action, else PATCH. */
  readonly method?: TaskMethod;
  /** The client, for the task's events and the machine's log. */
  readonly requester?: Pick<Requester, 'user' | 'address'>;
  /** Context for the translation of a failure; `path` is the task's target. */
  readonly context: ErrorContext;
  /**
   * When this promise resolves, the request does not wait further, and the operation becomes a task.
   * Default: the request waits until the result or the deadline.
   */
  readonly untilTask?: Promise<void>;
  /** Whether the operation reacts to `signal`, so that a client can cancel it. Default: false. */
  readonly cancellable?: boolean;
  /**
   * Runs the operation. It continues after the client received 202, so it must not use the
   * request's signal.
   */
  run(control: OperationControl): Promise<OperationResult | undefined>;
}

/** Options of all operations. */
export interface LongOperationOptions {
  readonly tasks: TaskStore;
  /**
   * How long the request waits for the result before the service answers 202, in milliseconds. The
   * default of EMULATOR_TASK_AFTER_SECONDS, 8 s, is below Ansible's timeout of 10 s.
   */
  readonly waitMs: number;
  /** Called when a task fails, so that the log contains the failure: no request waits for the task. */
  readonly onTaskFailed: (failure: RedfishError, name: string) => void;
}

/**
 * Runs an operation.
 * @returns the result if it comes in time, otherwise the task. Undefined: the operation ended in time without a
 *   result.
 * @throws the operation's error, if it comes in time. A later error becomes the task's failure.
 * @see DSP0266, asynchronous operations
 */
export async function runLongOperation(
  operation: LongOperation,
  { tasks, waitMs, onTaskFailed }: LongOperationOptions,
): Promise<WriteResult | undefined> {
  const { name, context, requester, cancellable = false, untilTask } = operation;
  const { method = context.action === undefined ? 'PATCH' : 'POST' } = operation;
  const cancelling = new AbortController();
  // Progress that the operation reports before it becomes a task.
  let earlyPercent: number | undefined;
  let report = (percent: number): void => {
    earlyPercent = percent;
  };
  const work = operation.run({ progress: (percent) => report(percent), signal: cancelling.signal });

  const inTime = withDeadline(work, waitMs, () => 'late' as const);
  const outcome = await (untilTask === undefined
    ? inTime
    : Promise.race([inTime, untilTask.then(() => 'late' as const)]));
  if (outcome !== 'late') return outcome === undefined || 'response' in outcome ? outcome : { messages: outcome };

  const { id } = tasks.create({
    name,
    targetUri: context.path,
    method,
    owner: requester === undefined ? undefined : { user: requester.user, address: requester.address },
    cancel: cancellable ? () => cancelling.abort(new Cancelled(name)) : undefined,
  });
  report = (percent) => tasks.setProgress(id, percent);
  if (earlyPercent !== undefined) report(earlyPercent);
  work.then(
    // The operation may finish in spite of a cancellation; the task is then complete.
    (done = []) => {
      if ('response' in done) tasks.complete(id, [], done.response);
      else tasks.complete(id, done);
    },
    (error: unknown) => {
      if (cancelling.signal.aborted && error === cancelling.signal.reason) {
        tasks.markCancelled(id);
        return;
      }
      const failure = toRedfishError(error, context);
      tasks.fail(id, failure);
      onTaskFailed(failure, name);
    },
  );
  // The client may read the task from another replica at once, so the shared store must have the task first.
  await tasks.whenStored();
  return { task: { monitor: taskMonitorUri(id), task: taskUri(id) } };
}

/** The reason of the abort signal when a client cancels a task. */
class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor(operation: string) {
    super(`${operation}: cancelled by a client`);
  }
}
