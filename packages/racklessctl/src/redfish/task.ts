/** Waits for operations that continue after the answer (DSP0266, "Asynchronous operations"). */
import { parseJson } from '@rackless/daemon/text/json.js';
import { retryAfterMs } from '@rackless/daemon/http/retry-after.js';
import { CommandFailure, exitCode } from '../failure.js';
import { messagesOf, messageText, reasonOf } from './error-texts.js';
import type { Answer } from './exchange.js';
import { asResource, linkAt, listAt, numberAt, textAt, type Resource } from './resource.js';
import type { Service, WriteAnswer } from './service.js';
import { wait } from './wait.js';

/** Progress of an operation. */
export interface TaskProgress {
  /** 0 to 100; undefined if the service does not report it. */
  readonly percent: number | undefined;
  /** `Running`, `Starting`, … */
  readonly state: string;
}

/** Options of {@link completeTask}. */
export interface TaskOptions {
  /** Maximum time to wait for a task, in milliseconds. */
  readonly taskMs: number;
  /** Called after each read that shows the state of the task. */
  readonly onProgress: (progress: TaskProgress) => void;
}

/**
 * The pauses between two reads grow from FIRST_PAUSE_MS to LAST_PAUSE_MS. The header `Retry-After` may give a
 * different pause, up to MAX_ASKED_PAUSE_MS.
 */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 5000;
const MAX_ASKED_PAUSE_MS = 60_000;

/** Final states of a task that has failed. Some services spell `Cancelled` as `Canceled`. */
const FAILED = /^(exception|killed|cancell?ed|interrupted|failed|completedwitherrors)$/i;
const COMPLETED = /^completed$/i;

/**
 * Waits for the task of an answer with status 202. Returns at once if the answer has another status, or
 * names no task.
 * @throws {CommandFailure} if the task fails or runs longer than `taskMs`, if its state cannot be read, or
 *   if the user interrupts the command. The task then continues, unless it has failed.
 */
export async function completeTask(service: Service, answer: WriteAnswer, options: TaskOptions): Promise<void> {
  if (answer.status !== 202) return;
  const monitor = answer.headers.location ?? textAt(answer.body, 'TaskMonitor') ?? linkAt(answer.body);
  // Some services answer 202 without a task. Then there is nothing to wait for.
  if (monitor === undefined) return;
  const deadline = performance.now() + options.taskMs;
  let pause = pauseOf(answer.headers, FIRST_PAUSE_MS);
  for (let step = FIRST_PAUSE_MS; ; step = Math.min(2 * step, LAST_PAUSE_MS)) {
    await waitUntil(deadline, pause, service, monitor);
    const read = await service.receive(monitor);
    if (isComplete(read, options)) return;
    pause = pauseOf(read.headers, step);
  }
}

const pauseOf = (headers: Answer['headers'], otherwise: number): number =>
  Math.min(retryAfterMs(headers, Date.now()) ?? otherwise, MAX_ASKED_PAUSE_MS);

async function waitUntil(deadline: number, pause: number, service: Service, monitor: string): Promise<void> {
  const left = deadline - performance.now();
  if (left <= 0)
    throw new CommandFailure(
      exitCode.timeout,
      `the task still runs. Its state is at ${service.origin.origin}${monitor}`,
    );
  try {
    await wait(Math.min(pause, left), service.signal);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    throw new CommandFailure(error.code, `${error.message}; the task continues: ${service.origin.origin}${monitor}`, {
      cause: error,
    });
  }
}

function isComplete({ status, text }: Answer, { onProgress }: TaskOptions): boolean {
  if (status >= 400) throw new CommandFailure(exitCode.failed, `the task failed: ${reasonOf(status, text)}`);
  const task = asResource(parseJson(text));
  const state = textAt(task, 'TaskState') ?? textAt(task, 'JobState');
  if (state === undefined) {
    // A monitor answers 202 while the task runs. Then it answers with the result of the operation.
    if (status === 202) onProgress({ percent: undefined, state: 'Running' });
    return status !== 202;
  }
  onProgress({ percent: numberAt(task, 'PercentComplete'), state });
  const isBad = FAILED.test(state) || (COMPLETED.test(state) && textAt(task, 'TaskStatus') === 'Critical');
  if (isBad) throw new CommandFailure(exitCode.failed, `the task ended as ${state}${detailOf(task)}`);
  return COMPLETED.test(state);
}

function detailOf(task: Resource): string {
  const texts = listAt(task, 'Messages').flatMap((entry) =>
    messagesOf({ '@Message.ExtendedInfo': [entry] }).map(messageText),
  );
  return texts.length === 0 ? '' : `: ${[...new Set(texts)].join('; ')}`;
}
