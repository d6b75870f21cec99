import { describe, expect, it, jest } from '@jest/globals';
import { DriverError } from '../../driver-error.js';
import type { Machine } from '../machine/inventory.js';
import { ColdStart } from './cold-start.js';

const machine = { uuid: 'a', name: 'web-1' } as unknown as Machine; // the retries only pass the machine on
const endedDomainError = () =>
  new DriverError('failed', 'starting machine web-1: operation failed: domain is no longer running');

/** Returns a start whose attempts fail with these errors and then succeed, and the mock of an attempt. */
function startThatFails(...errors: readonly Error[]) {
  const coldStart = Object.create(ColdStart.prototype) as ColdStart; // no constructor runs, so no host is necessary
  const start = jest.spyOn(coldStart, 'start').mockResolvedValue();
  for (const error of errors) start.mockRejectedValueOnce(error);
  return { coldStart, start };
}

describe('the start of a machine that was just forced off', () => {
  it('is repeated once if libvirt ends the new QEMU together with the old one', async () => {
    const { coldStart, start } = startThatFails(endedDomainError());
    await coldStart.startAfterDestroy(machine);
    expect(start).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['a second end of QEMU', [endedDomainError(), endedDomainError()], 2],
    ['another error', [new DriverError('storageFull', 'starting machine web-1: no space')], 1],
  ])('fails after %s', async (_, errors, attempts) => {
    const { coldStart, start } = startThatFails(...errors);
    await expect(coldStart.startAfterDestroy(machine)).rejects.toBe(errors.at(-1));
    expect(start).toHaveBeenCalledTimes(attempts);
  });
});
