/** Repeated reads, only while the user attends to the page: otherwise they would keep its session alive. */
import { computed, signal } from '@preact/signals';
import { whenAttended, isAttended } from './activity.js';
import { isLive } from './event-stream.js';

const POLL_MS = 15_000;
const FIRST_POLL_MS = 2000;

/**
 * Reads again and again while the stream of events is not open and the user attends to the page, at first after
 * `FIRST_POLL_MS`. The pause begins at the end of a read, so reads never overlap. Returns a function that stops the
 * reads.
 * @param read must not reject.
 * @param minPauseMs returns the minimum pause after a read, in milliseconds. The pause is never shorter than `POLL_MS`.
 */
export function pollWithoutEvents(read: () => Promise<void>, minPauseMs = (): number => 0): () => void {
  let isStopped = false;
  let timer = setTimeout(() => void poll(), FIRST_POLL_MS);
  async function poll(): Promise<void> {
    if (!isLive.value && isAttended()) await read();
    if (!isStopped) timer = setTimeout(() => void poll(), Math.max(POLL_MS, minPauseMs()));
  }
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Number of pollers that wait until the user is active again. */
const paused = signal(0);
/** Whether values of the page are no longer read, until its user is active again. */
export const isPaused = computed(() => paused.value > 0);

/**
 * Reads at an interval while the user attends to the page, for values that change without an event, and at once when
 * the user returns. Returns a function that stops the reads.
 * @param read must not reject.
 */
export function pollAttended(read: () => Promise<void>, intervalMs: number): () => void {
  const end = new AbortController();
  let isWaiting = false;
  const pause = async (): Promise<void> => {
    isWaiting = true;
    paused.value += 1;
    await whenAttended(end.signal);
    paused.value -= 1;
    isWaiting = false;
    if (!end.signal.aborted) await read();
  };
  const timer = setInterval(() => {
    if (isAttended()) void read();
    else if (!isWaiting) void pause();
  }, intervalMs);
  return () => {
    clearInterval(timer);
    end.abort();
  };
}
