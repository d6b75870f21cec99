/** Actions that took longer than the client should wait for: their service, the tasks, and the monitors that clients poll. */
import { refuse } from '../redfish/errors.js';
import { renderMessage } from '../redfish/messages.js';
import type { GetStatus, JsonObject } from '../redfish/resource.js';
import { taskMonitorUri, taskUri, type TaskRecord } from '../redfish/task-store.js';
import { reference, renderCollection } from './reference.js';
import { defineResource, type Services } from './services.js';
import { enabled } from './status.js';

/** How long a client should leave a task alone, in seconds. */
const pollSeconds = 1;

const nothing = {};

const taskService = defineResource({
  entity: 'TaskService',
  odataType: '#TaskService.v1_3_0.TaskService',
  uri: '/redfish/v1/TaskService',
  load: () => nothing,
  render: (_entity, { self }) => ({
    Id: 'TaskService',
    Name: 'Task Service',
    ServiceEnabled: true,
    CompletedTaskOverWritePolicy: 'Oldest',
    LifeCycleEventOnTaskStateChange: false,
    Status: enabled,
    Tasks: reference(`${self}/Tasks`),
  }),
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
  if (record === undefined) throw refuse('ResourceNotFound', 'Task', id);
  return record;
}

function renderTask(record: TaskRecord): JsonObject {
  return {
    Id: record.id,
    Name: record.name,
    TaskState: record.state,
    TaskStatus: record.state === 'Exception' ? 'Critical' : 'OK',
    StartTime: record.startTime.toISOString(),
    ...(record.endTime === null ? {} : { EndTime: record.endTime.toISOString() }),
    PercentComplete: record.percent,
    // The body that was sent is left out: it may hold a password.
    Payload: { HttpOperation: 'POST', TargetUri: record.targetUri },
    TaskMonitor: taskMonitorUri(record.id),
    Messages: record.messages.map(renderMessage),
  };
}

const task = defineResource({
  entity: 'Task',
  odataType: '#Task.v1_7_4.Task',
  uri: '/redfish/v1/TaskService/Tasks/{taskId}',
  load: ({ params, services }) => findTask(services, params.taskId),
  render: renderTask,
  delete: (record, { services }) => {
    // Nothing stops the work itself, so a task that runs can not be told to be gone.
    if (!services.operations.tasks.remove(record.id)) throw refuse('ResourceInUse');
    return undefined;
  },
});

/** 202 with the task while it runs; then what the request itself would have answered (DSP0266, task monitors). */
const taskMonitor = defineResource({
  entity: 'Task',
  odataType: '#Task.v1_7_4.Task',
  uri: '/redfish/v1/TaskService/TaskMonitors/{taskId}',
  load: ({ params, services }) => {
    const record = findTask(services, params.taskId);
    if (record.failure !== null) throw record.failure;
    return record;
  },
  status: ({ id, state }): GetStatus =>
    state === 'Running'
      ? { status: 202, headers: { Location: taskMonitorUri(id), 'Retry-After': String(pollSeconds) } }
      : { status: 204 },
  // The body of a monitor is the task, with the task's own URI: the monitor has no schema.
  render: (record) => ({ '@odata.id': taskUri(record.id), ...renderTask(record) }),
});

/** The task service, its tasks and their monitors. */
export const taskResources = [taskService, taskCollection, task, taskMonitor];
