/** A limit for the time that a caller waits. */

/**
 * Waits for a result until a deadline. The work continues after the deadline, and its error is ignored then.
 * @param late makes the result at the deadline, or throws.
 * @throws the error of the work before the deadline, or the error of `late`.
 */
export async function withDeadline<Result, Late>(
  work: Promise<Result>,
  ms: number,
  late: () => Late,
): Promise<Result | Late> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late');
  });
  try {
    const first = await Promise.race([work.then((result) => ({ result })), deadline]);
    return first === 'late' ? late() : first.result;
  } finally {
    clearTimeout(timer);
  }
}
