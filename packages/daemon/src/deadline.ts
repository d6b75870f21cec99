/** A limit for the time that a caller waits. */

/**
 * Waits for a result until a deadline. The work continues after the deadline, and its error is ignored then.
 * A result that has already arrived at a socket of this process is in time.
 * @param late makes the result at the deadline, or throws.
 * @throws the error of the work before the deadline, or the error of `late`.
 */
export async function withDeadline<Result, Late>(
  work: Promise<Result>,
  ms: number,
  late: () => Late,
): Promise<Result | Late> {
  let timer: NodeJS.Timeout | undefined;
  let afterInput: NodeJS.Immediate | undefined;
  const deadline = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => {
      // Node runs timers before it reads sockets. After a pause of the whole process, the result may wait there.
      afterInput = setImmediate(resolve, 'late');
    }, ms);
  });
  try {
    const first = await Promise.race([work.then((result) => ({ result })), deadline]);
    return first === 'late' ? late() : first.result;
  } finally {
    clearTimeout(timer);
    clearImmediate(afterInput);
  }
}
