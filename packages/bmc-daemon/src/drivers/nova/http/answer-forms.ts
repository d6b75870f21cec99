/**
 * Schemas for answers of a cloud. They ignore members with an unexpected form, and keep the others.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { cloudServices, type CloudService } from '../cloud/cloud-services.js';
import { shortLine } from './plain-text.js';

/** Returns the schema of a list that ignores members with an unexpected form. */
export function listOf<T>(member: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(z.unknown()).transform((members) =>
    members.flatMap((value) => {
      const parsed = member.safeParse(value);
      return parsed.success ? [parsed.data] : [];
    }),
  );
}

/** The schema of an object that ignores members which are not texts. */
export const textsSchema = z
  .record(z.string(), z.unknown())
  .transform((members) =>
    Object.fromEntries(
      Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  );

/** The log of ignored objects: those with an unexpected form. */
export interface IgnoredLog {
  /** Logs that the daemon ignores an object, once for each service and id. Logs at most {@link MAX_LOGGED} objects. */
  add(service: CloudService, value: unknown, error: z.ZodError): void;
}

/** Maximum number of logged objects. A hostile cloud must not fill the log. */
const MAX_LOGGED = 100;

/** Creates the log of one cloud. */
export function createIgnoredLog(log: Log): IgnoredLog {
  const logged = new Set<string>();
  return {
    add: (service, value, error) => {
      const { title } = cloudServices[service];
      const id = idIn(value);
      const key = `${title} ${id}`;
      if (logged.has(key) || logged.size >= MAX_LOGGED) return;
      logged.add(key);
      const at = error.issues[0]?.path.map(String).join('.') ?? '';
      log.warn(`ignored an object of ${title} with an unexpected form`, { id, at: shortLine(at) });
    },
  };
}

/** Returns the id of an object for the log; empty if it has none. */
function idIn(value: unknown): string {
  const id: unknown = typeof value === 'object' && value !== null && 'id' in value ? value.id : '';
  return typeof id === 'string' ? shortLine(id) : '';
}
