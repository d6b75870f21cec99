/** Waits for a promise, but only for some time. */

/** Returns whether a promise that never rejects settles in time. */
export function settlesWithin(settling: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void settling.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
