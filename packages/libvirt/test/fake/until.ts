import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `probe` is true, looking every few milliseconds. @throws {Error} after `timeoutMs`. */
export async function until(what: string, probe: () => boolean, timeoutMs = 120_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!probe()) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await sleep(2);
  }
}

/** What a promise that must fail fails with. @throws {Error} when it succeeds. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it succeeded');
}
