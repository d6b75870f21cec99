/**
 * Tasks for long operations: the task service, the tasks, and the task monitors that clients poll.
 */
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Severity } from '../../redfish/messages/base-registry.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { message, messageSeverity, renderMessage, withDetail } from '../../redfish/messages/messages.js';
import type { GetStatus, JsonObject, Requester, WriteResult } from '../../redfish/resource.js';
import { isRunning, type TaskRecord } from '../../redfish/tasks/task-record.js';
import { taskMonitorUri, taskUri, type TaskStore } from '../../redfish/tasks/task-store.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabled } from '../status.js';

/** Retry-After of a task monitor, in seconds. */
const pollSeconds = 1;

/**
 * Time that a DELETE waits for the operation to stop. It is below the shortest timeout of a known client,
 * Ansible's 10 s.
 */
const stopWithinMs = 5_000;

const taskService = defineResource({
  entity: 'TaskService',
  odataType: '#TaskService.v1_3_0.TaskService',
  uri: '/redfish/v1/TaskService',
  load: ({ services }) => ({ keepMinutes: services.operations.tasks.keepMinutes }),
  render: ({ keepMinutes }, { self }) => ({
    Id: 'TaskService',
    Name: 'Task Service',
    ServiceEnabled: true,
    CompletedTaskOverWritePolicy: 'Oldest',
    LifeCycleEventOnTaskStateChange: true,
    TaskAutoDeleteTimeoutMinutes: keepMinutes,
    Status: enabled,
    Tasks: reference(`${self}/Tasks`),
  }),
  patch: {
    body: z.strictObject({
      // Long operations need tasks, so clients cannot disable the service.
      ServiceEnabled: z.literal(true).optional(),
      TaskAutoDeleteTimeoutMinutes: z.number().int().min(1).max(525_600).optional(),
    }),
    apply: (_entity, { TaskAutoDeleteTimeoutMinutes: minutes }, { services }) => {
      if (minutes !== undefined) services.operations.tasks.setKeepMinutes(minutes);
      return undefined;
    },
  },
});

const taskCollection = defineResource({
  entity: 'TaskCollection',
  odataType: '#TaskCollection.TaskCollection',
  uri: '/redfish/v1/TaskService/Tasks',
  load: ({ services }) => services.operations.tasks.list(),
  render: (records) =>
    renderCollection(
      'Task Collection',
      records.map(({ id }) => taskUri(id)),
    ),
});

function findTask(services: Services, id: string): TaskRecord {
  const record = services.operations.tasks.get(id);
  if (record === undefined) throw redfishError('ResourceNotFound', 'Task', id);
  return record;
}

const severityRank = { OK: 0, Warning: 1, Critical: 2 } as const;

/** Returns Critical for a failed task, else the worst severity of its messages. */
function healthOf({ state, messages }: TaskRecord): Severity {
  if (state === 'Exception') return 'Critical';
  return messages
    .map(messageSeverity)
    .reduce<Severity>((worst, next) => (severityRank[next] > severityRank[worst] ? next : worst), 'OK');
}

function renderTask(record: TaskRecord): JsonObject {
  const { state } = record;
  return {
    Id: record.id,
    Name: record.name,
    TaskState: state,
    TaskStatus: healthOf(record),
    StartTime: record.startTime.toISOString(),
    ...(record.endTime === null ? {} : { EndTime: record.endTime.toISOString() }),
    PercentComplete: record.percent,
    // Omits the body of the request, which can contain a password.
    Payload: { HttpOperation: record.method, TargetUri: record.targetUri },
    // A cancelled task has no monitor.
    ...(state === 'Cancelled' ? {} : { TaskMonitor: taskMonitorUri(record.id) }),
    Messages: record.messages.map(renderMessage),
  };
}

/**
 * Cancels a running task.
 * @returns the task if its operation does not stop in time; undefined if it has stopped or was not
 *   running.
 * @throws {RedfishError} 409 ResourceInUse if the operation cannot be cancelled.
 * @throws {StoreUnavailable} as {@link TaskStore.cancel}.
 */
async function stop({ id, name }: TaskRecord, tasks: TaskStore, by: Requester): Promise<WriteResult | undefined> {
  const before = tasks.get(id);
  if (before === undefined || !isRunning(before)) return undefined;
  if (!(await tasks.cancel(id, by))) {
    throw new RedfishError(409, [withDetail(message('ResourceInUse'), `${name} cannot be cancelled.`)]);
  }
  const waited = new AbortController();
  await Promise.race([
    tasks.whenEnded(id),
    setTimeout(stopWithinMs, undefined, { signal: waited.signal }).catch(() => undefined),
  ]);
  waited.abort();
  const after = tasks.get(id);
  return after !== undefined && isRunning(after)
    ? { task: { monitor: taskMonitorUri(id), task: taskUri(id) } }
    : undefined;
}

const task = defineResource({
  entity: 'Task',
  odataType: '#Task.v1_7_4.Task',
  uri: '/redfish/v1/TaskService/Tasks/{taskId}',
  load: ({ params, services }) => findTask(services, params.taskId),
  render: renderTask,
  delete: async (record, { services, requester }) => {
    const { tasks } = services.operations;
    const stopping = await stop(record, tasks, requester);
    if (stopping === undefined) await tasks.remove(record.id);
    return stopping;
  },
});

/**
 * The monitor of a task. It answers 202 while the task runs, and then with the response or the error of the
 * original request (DSP0266, task monitors). For a cancelled task it answers 404.
 */
const taskMonitor = defineResource({
  entity: 'Task',
  odataType: '#Task.v1_7_4.Task',
  uri: '/redfish/v1/TaskService/TaskMonitors/{taskId}',
  load: ({ params, services, requester }) => {
    const record = findTask(services, params.taskId);
    // The response can contain a secret, such as the challenge password of a signing request. So only
    // the user of the original request can read it.
    if (record.response !== undefined && record.owner?.user !== requester.user)
      throw redfishError('InsufficientPrivilege');
    if (record.failure !== null) throw record.failure;
    if (record.state === 'Cancelled') throw redfishError('ResourceNotFound', 'TaskMonitor', params.taskId);
    return record;
  },
  status: (record): GetStatus => {
    if (isRunning(record)) {
      return { status: 202, headers: { Location: taskMonitorUri(record.id), 'Retry-After': String(pollSeconds) } };
    }
    if (record.response !== undefined) return { status: 200, body: record.response };
    if (record.messages.length === 0) return { status: 204 };
    return { status: 200, body: { '@Message.ExtendedInfo': record.messages.map(renderMessage) } };
  },
  // A monitor has no schema. Its body is the task with the URI of the task.
  render: (record) => ({ '@odata.id': taskUri(record.id), ...renderTask(record) }),
  // Does not remove the task: the task shows the result until it expires or newer tasks replace it.
  delete: (record, { services, requester }) => stop(record, services.operations.tasks, requester),
});

/**
 * The task service, the tasks and their monitors.
 * @see DSP2046, TaskService, Task; DSP0266, asynchronous operations
 */
export const taskResources = [taskService, taskCollection, task, taskMonitor];
