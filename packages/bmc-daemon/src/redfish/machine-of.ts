/** Finds the machine that a URI or a task belongs to. */
import type { TaskRecord } from './tasks/task-record.js';

/**
 * Returns the UUID of the machine of a canonical URI: the segment in
 * `/redfish/v1/Systems/{uuid}/…`, and likewise below Managers and Chassis. Does not check that the
 * segment is a UUID: for the chassis of a host, returns the id of this chassis. Returns null for any
 * other URI.
 */
export function machineUuidOf(uri: string): string | null {
  return /^\/redfish\/v1\/(?:Systems|Managers|Chassis)\/([^/]+)/.exec(uri)?.[1] ?? null;
}

/** Returns the UUIDs of a task's machines; empty if the task belongs to no machine. */
export function machinesOf({ machines, targetUri }: Pick<TaskRecord, 'machines' | 'targetUri'>): readonly string[] {
  if (machines !== undefined) return machines;
  const uuid = machineUuidOf(targetUri);
  return uuid === null ? [] : [uuid];
}
