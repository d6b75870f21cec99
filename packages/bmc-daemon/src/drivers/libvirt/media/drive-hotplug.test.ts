import { describe, expect, it } from '@jest/globals';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { retryWhileGuestClosesTray } from './drive-hotplug.js';

const internalError = (message: string) => libvirtError('INTERNAL_ERROR', message);
const qemuCommandError = (command: string, why: string) =>
  internalError(`internal error: unable to execute QEMU command '${command}': ${why}`);
const closed = qemuCommandError('blockdev-insert-medium', 'Tray of the device is not open');
const closedBefore = qemuCommandError('blockdev-remove-medium', "Tray of device 'sata0-0-0' is not open");

/** Returns a change whose calls reject with these errors in turn and then succeed, and the number of its calls. */
function changeThatFails(errors: Error[]): { readonly change: () => Promise<string>; readonly calls: () => number } {
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
  it('is repeated if the guest closes the tray during the change', async () => {
    const { change, calls } = changeThatFails([closedBefore, closed]);
    expect([await retryWhileGuestClosesTray(change), calls()]).toEqual(['changed', 3]);
  });

  it('fails after five attempts if the guest closes the tray each time', async () => {
    const { change, calls } = changeThatFails(Array.from({ length: 9 }, () => closed));
    await expect(retryWhileGuestClosesTray(change)).rejects.toBe(closed);
    expect(calls()).toBe(5);
  });

  it('fails immediately with any other error', async () => {
    const other = internalError('internal error: no such device');
    const { change, calls } = changeThatFails([other]);
    await expect(retryWhileGuestClosesTray(change)).rejects.toBe(other);
    expect(calls()).toBe(1);
  });
});
