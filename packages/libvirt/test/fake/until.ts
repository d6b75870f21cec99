import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `probe` returns true. It polls every 2 ms. @throws {Error} after `timeoutMs`. */
export async function until(what: string, probe: () => boolean, timeoutMs = 120_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!probe()) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await sleep(2);
  }
}

/** Returns the error of a promise that must reject. @throws {Error} if it resolves. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the promise did not reject');
}
