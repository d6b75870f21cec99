/**
 * Nova's list of the actions of a server.
 * @see https://docs.openstack.org/api-ref/compute/#servers-actions-servers-os-instance-actions
 */
import { z } from 'zod';
import type { ActionRecord } from '../../hypervisor-logs.js';
import { shortLine } from '../http/plain-text.js';

/** Maximum number of Nova's actions in the log of one server. */
export const MAX_ACTIONS = 500;

/**
 * The schema of Nova's answer. It does not check the members, because a list may be very long.
 * {@link actionRecords} checks only the members that it returns.
 */
export const actionListSchema = z.object({ instanceActions: z.array(z.unknown()) });

const actionSchema = z.object({
  action: z.string(),
  request_id: z.string().regex(/^[\w-]{1,64}$/),
  user_id: z.string().nullish(),
  start_time: z.string(),
  message: z.string().nullish(),
});

/**
 * Returns the latest actions, oldest first, one for each id. Ignores members with an unexpected form.
 * @param newestFirst the list in Nova's order.
 */
export function actionRecords(newestFirst: readonly unknown[]): readonly ActionRecord[] {
  const records = newestFirst.slice(0, MAX_ACTIONS).flatMap((member) => {
    const { data } = actionSchema.safeParse(member);
    if (data === undefined) return [];
    const { action, request_id: id, user_id: user, start_time: time, message } = data;
    const record: ActionRecord = {
      id,
      action: shortLine(action),
      startedAt: cloudTime(time),
      hasFailed: message === 'Error',
      user: shortLine(user ?? '') || null,
    };
    return [record];
  });
  return [...new Map(records.reverse().map((record) => [record.id, record])).values()];
}

/**
 * Parses a time. A time without a zone is in UTC. Returns null if the text is not a time, or if its
 * year is not from 1970 to 9999.
 */
export function cloudTime(text: string): Date | null {
  const time = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  const year = time.getUTCFullYear();
  return year >= 1970 && year <= 9999 ? time : null;
}
