import { describe, expect, it } from '@jest/globals';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { retryWhileGuestClosesTray } from './drive-hotplug.js';

const rejected = (message: string) => libvirtError('INTERNAL_ERROR', message);
const failed = (command: string, why: string) =>
  rejected(`internal error: unable to execute QEMU command '${command}': ${why}`);
const closed = failed('blockdev-insert-medium', 'Tray of the device is not open');
const closedBefore = failed('blockdev-remove-medium', "Tray of device 'sata0-0-0' is not open");

/** Each call rejects with the next of these errors. All further calls succeed. */
function failing(errors: Error[]): { readonly change: () => Promise<string>; readonly calls: () => number } {
  let calls = 0;
  const change = async (): Promise<string> => {
    const error = errors[calls];
    calls += 1;
    await Promise.resolve();
    if (error !== undefined) throw error;
    return 'changed';
  };
  return { change, calls: () => calls };
}

describe('a change of an image', () => {
  it('is repeated if the guest closes the tray', async () => {
    const { change, calls } = failing([closedBefore, closed]);
    expect([await retryWhileGuestClosesTray(change), calls()]).toEqual(['changed', 3]);
  });

  it('fails if the guest always closes the tray', async () => {
    const { change, calls } = failing(Array.from({ length: 9 }, () => closed));
    await expect(retryWhileGuestClosesTray(change)).rejects.toBe(closed);
    expect(calls()).toBe(5);
  });

  it('fails immediately with any other error', async () => {
    const other = rejected('internal error: no such device');
    const { change, calls } = failing([other]);
    await expect(retryWhileGuestClosesTray(change)).rejects.toBe(other);
    expect(calls()).toBe(1);
  });
});
