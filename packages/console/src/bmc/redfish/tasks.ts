/** Follows a task of the service until its end. */
import { get } from './client.js';
import { RedfishFailure, type Reply } from './wire.js';

interface Task {
  readonly '@odata.id': string;
  readonly TaskState: string;
  readonly PercentComplete?: number | null;
  readonly Messages?: readonly { readonly Message?: string; readonly Resolution?: string }[];
}

/** A running operation that the user can cancel. */
export interface Progress {
  /** URI of the task. DELETE cancels it. */
  readonly task: string;
  /** 0 to 1; null: unknown. */
  readonly value: number | null;
}

const PAUSE_MS = 1000;

/**
 * Waits for the end of the task of an answer. Returns at once for an answer without a task.
 * @throws {RedfishFailure} if the task fails, is cancelled, or cannot be read.
 * @throws {DOMException} `AbortError` if the caller aborts.
 */
export async function completeTask(
  { status, body }: Reply<Task | null>,
  onProgress: (progress: Progress) => void = () => undefined,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<void> {
  if (status !== 202 || body === null) return;
  let task = body;
  const uri = task['@odata.id'];
  while (['Running', 'Starting', 'New', 'Pending', 'Cancelling'].includes(task.TaskState)) {
    const { PercentComplete: percent } = task;
    onProgress({ task: uri, value: typeof percent === 'number' ? percent / 100 : null });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    task = await get<Task>(uri, signal);
  }
  if (task.TaskState === 'Completed') return;
  const messages = (task.Messages ?? []).map(({ Message = '', Resolution = '' }) => ({
    text: Message,
    resolution: Resolution,
    properties: [],
  }));
  throw new RedfishFailure(status, messages);
}
