/** The option `--task-timeout`, and the options of `completeTask` that commands make from it. */
import type { TaskOptions } from '../redfish/task.js';
import type { Call, OptionDefinition } from './command.js';

const DEFAULT_SECONDS = 1800;

/** The option of commands that may start a task. */
export const taskTimeoutOption: OptionDefinition = {
  name: 'task-timeout',
  value: 'seconds',
  summary: 'maximum time to wait for a task of the service',
  default: String(DEFAULT_SECONDS),
};

/** Returns the options of `completeTask`. */
export function taskOptions(call: Call, onProgress: TaskOptions['onProgress']): TaskOptions {
  return { taskMs: call.milliseconds('task-timeout') ?? DEFAULT_SECONDS * 1000, onProgress };
}
