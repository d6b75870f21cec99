/**
 * Runs long work in slices, for example a reload of thousands of entries, so that it does not delay requests of
 * clients.
 */
import { setImmediate as otherWork } from 'node:timers/promises';

/** Work that can pause at each `yield`. */
export type Steps<Result> = Generator<undefined, Result>;

/** Length of a slice in milliseconds. */
const SLICE_MS = 5;

/** Does all steps without a pause. @throws what a step throws. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * Does the steps in slices. Other work of the process runs between them.
 * @param now returns milliseconds of a clock that never goes back.
 * @throws what a step throws.
 */
export async function runInSlices<Result>(steps: Steps<Result>, now = () => performance.now()): Promise<Result> {
  let end = now() + SLICE_MS;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (now() < end) continue;
    await otherWork();
    end = now() + SLICE_MS;
  }
}
