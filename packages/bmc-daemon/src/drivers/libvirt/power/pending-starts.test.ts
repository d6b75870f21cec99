import { describe, expect, it } from '@jest/globals';
import { DriverError } from '../../driver-error.js';
import { NotSwitchedOffError, PendingStarts, switchedOffError } from './pending-starts.js';

const one = { uuid: 'a', name: 'web-1' };
const other = { uuid: 'b', name: 'web-2' };

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

describe('a start in progress', () => {
  it('ends when its machine is switched off, but starts of other machines continue', async () => {
    const starts = new PendingStarts();
    const reason = switchedOffError(one);
    const ended = starts.run(one, async (signal) => {
      await aborted(signal);
      signal.throwIfAborted();
    });
    let finish = (): void => undefined;
    const goesOn = starts.run(other, async (signal) => {
      await new Promise<void>((resolve) => (finish = resolve));
      signal.throwIfAborted();
    });
    starts.switchOff(one, reason);
    await expect(ended).rejects.toBe(reason);
    finish();
    await goesOn;
    // A start that begins later is not affected.
    await starts.run(one, (signal) => {
      signal.throwIfAborted();
      return Promise.resolve();
    });
  });

  it('reports "switched off" instead of an error that follows; a later start reports its own error', async () => {
    const starts = new PendingStarts();
    const cause = new DriverError('internal', 'starting machine web-1: no such file');
    const failed = starts.run(one, async (signal) => {
      await aborted(signal);
      throw cause;
    });
    starts.switchOff(one, switchedOffError(one));
    await expect(failed).rejects.toMatchObject({
      kind: 'conflict',
      message: 'starting machine web-1: it was switched off meanwhile',
      cause,
    });
    await expect(starts.run(one, () => Promise.reject(cause))).rejects.toBe(cause);
  });

  it('reports that the machine still runs if libvirt could not switch it off', async () => {
    const starts = new PendingStarts();
    const error = new NotSwitchedOffError('unavailable', 'switching machine web-1 off: no answer');
    const failed = starts.run(one, async (signal) => {
      await aborted(signal);
      throw error;
    });
    starts.switchOff(one, switchedOffError(one));
    await expect(failed).rejects.toBe(error);
  });
});
