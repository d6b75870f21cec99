/** Waits for a promise, but only for some time. */

/** Returns whether a promise settles, with a value or an error, in time. */
export function settlesWithin(settling: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const end = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    settling.then(end, end);
  });
}
