/** Time limits of examinations. */

/** Marks an examination that did not end in time. */
export const late: unique symbol = Symbol('late');

/**
 * Waits for a result, at most for a time. The work itself continues.
 * @returns {@link late} after `timeoutMs` milliseconds.
 */
export async function within<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result | typeof late> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), timeoutMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
