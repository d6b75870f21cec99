/** Checks lists in the answers of upstreams. */
import { z } from 'zod';

/**
 * Makes the schema of a list. Reports only the first invalid element: `z.array` reports each one, so a hostile list of
 * 4 MB takes ten seconds, and its error fills the log.
 */
export function listOf<T>(element: z.ZodType<T>) {
  return z.custom<readonly unknown[]>(Array.isArray, 'expected a list').transform((values, context): readonly T[] => {
    const parsed: T[] = [];
    for (const [index, value] of values.entries()) {
      const result = element.safeParse(value);
      if (!result.success) {
        const [issue] = result.error.issues;
        const path = [index, ...(issue?.path ?? [])];
        context.addIssue({ code: 'custom', path, message: issue?.message ?? 'is invalid' });
        return z.NEVER;
      }
      parsed.push(result.data);
    }
    return parsed;
  });
}
