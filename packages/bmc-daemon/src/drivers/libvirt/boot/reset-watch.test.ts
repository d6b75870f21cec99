import { describe, expect, it } from '@jest/globals';
import { DomainState } from '@rackless/libvirt';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { MachineQueue } from '../../queue/machine-queue.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import { resetWhenFirmwareRuns } from './reset-watch.js';

// The watch uses only these members.
const instance = { id: 1, domain: { devices: { disks: [{ target: 'sda' }] } } } as unknown as Instance;
const running = { state: DomainState.RUNNING, cpuTimeNs: 0n };

/**
 * Waits for the firmware of a guest.
 * @param answer answers the first query of the state. From then on, the firmware reads its drive.
 * @returns how often the driver reset the guest.
 */
async function resets(answer: () => Promise<unknown>, signal = new AbortController().signal): Promise<number> {
  let count = 0;
  let reads = 0;
  const domain = {
    name: 'web-1',
    blockStats: () => Promise.resolve({ rdReq: reads }),
    getInfo: () => {
      reads = 1;
      return answer();
    },
    getXmlDesc: () => Promise.resolve(`<domain type='kvm' id='1'><name>web-1</name></domain>`),
    reset: () => {
      count += 1;
      return Promise.resolve();
    },
  };
  const machine = { uuid: 'u', name: 'web-1', domain } as unknown as Machine; // all that the watch uses
  const host = { queue: new MachineQueue(), timeoutMs: 1_000 };
  await resetWhenFirmwareRuns(host, machine, instance, { isWanted: () => true, signal });
  return count;
}

describe('the reset of a guest that another program has started', () => {
  it('follows the first read of the firmware, also if libvirt did not answer one query in time', async () => {
    expect(await resets(() => Promise.reject(libvirtError('CALL_TIMEOUT', 'no answer')))).toBe(1);
  });

  it('does not follow if the guest stops, or if the driver closes during the wait', async () => {
    expect(await resets(() => Promise.resolve({ ...running, state: DomainState.SHUTOFF }))).toBe(0);
    const closing = new AbortController();
    const close = () => {
      closing.abort();
      return Promise.resolve(running);
    };
    expect(await resets(close, closing.signal)).toBe(0);
  });

  it('fails if the machine does not exist any more', async () => {
    const gone = () => Promise.reject(libvirtError('NO_DOMAIN', 'gone'));
    await expect(resets(gone)).rejects.toMatchObject({ kind: 'notFound' });
  });
});
