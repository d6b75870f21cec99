/** Converts tasks to and from the entries of the shared store. */
import { z } from 'zod';
import type { StoredEntry } from '@rackless/daemon/shared-store/entries.js';
import type { JsonObject } from '../json.js';
import { RedfishError } from '../messages/errors.js';
import { messageTable } from '../messages/base-registry.js';
import type { Message, MessageKey } from '../messages/messages.js';
import type { TaskRecord } from './task-record.js';

/** The kind of the entries of tasks in the shared store. */
export const TASK_KIND = 'task';

/** A task that this replica has read from the store. */
export interface KnownTask {
  readonly record: TaskRecord;
  readonly revision: number;
  /** The replica that executes the task. */
  readonly replica: string;
  readonly isCancellable: boolean;
}

const isKey = (key: unknown): key is MessageKey => typeof key === 'string' && Object.hasOwn(messageTable, key);
const messages: z.ZodType<readonly Message[]> = z.array(
  z.object({
    key: z.custom<MessageKey>(isKey),
    args: z.array(z.union([z.string(), z.number()])),
    related: z.array(z.string()),
    detail: z.string().exactOptional(),
  }),
);
const owner = z.object({ user: z.string().nullable(), address: z.string() }).nullable();
/** The last millisecond of the year 9999, because Redfish's dates have years of four digits. */
const MAX_TIME = Date.UTC(10_000, 0, 1) - 1;
const date = z
  .int()
  .min(0)
  .max(MAX_TIME)
  .transform((time) => new Date(time));

const schema = z.object({
  replica: z.string(),
  isCancellable: z.boolean(),
  record: z.object({
    id: z.string(),
    name: z.string(),
    targetUri: z.string(),
    method: z.enum(['POST', 'PATCH', 'DELETE']),
    machines: z.array(z.string()).exactOptional(),
    owner,
    cancelledBy: owner,
    state: z.enum(['Running', 'Cancelling', 'Completed', 'Exception', 'Cancelled']),
    startTime: date,
    endTime: date.nullable(),
    percent: z.number().nullable(),
    messages,
    response: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null).exactOptional(),
    failure: z
      .object({ status: z.int().min(400).max(599), messages, headers: z.record(z.string(), z.string()) })
      .transform((failure) => new RedfishError(failure.status, failure.messages, failure.headers))
      .nullable(),
  }),
});

/** Returns the value of a task's entry. */
export function storedTask(
  { startTime, endTime, failure, ...record }: TaskRecord,
  { replica, isCancellable }: Pick<KnownTask, 'replica' | 'isCancellable'>,
): object {
  return {
    replica,
    isCancellable,
    record: {
      ...record,
      startTime: startTime.getTime(),
      endTime: endTime?.getTime() ?? null,
      failure:
        failure === null ? null : { status: failure.status, messages: failure.messages, headers: failure.headers },
    },
  };
}

/**
 * Returns the task of an entry; undefined if the form of the entry is unknown, for example because
 * another version of the daemon has written it.
 */
export function parseTask({ revision, value }: StoredEntry): KnownTask | undefined {
  const parsed = schema.safeParse(value);
  return parsed.success ? { ...parsed.data, revision } : undefined;
}
