import { setTimeout as delay } from 'node:timers/promises';

/** Waits. @throws the reason of the signal if it ends the wait. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
