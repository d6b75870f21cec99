import { describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '@rackless/libvirt';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { MachineQueue } from '../../queue/machine-queue.js';
import type { BootControl } from '../boot/boot-control.js';
import { driverError } from '../failure.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import type { ColdStart } from './cold-start.js';
import { PowerControl } from './power-control.js';

/** Switches a machine on whose start fails with this error of libvirt, while libvirt reports that it runs. */
async function powerOn(code: ErrorCode, text: string): Promise<void> {
  const domain = { isActive: () => Promise.resolve(true) };
  const machine = { uuid: 'u', name: 'web-1', persistent: false, domain } as unknown as Machine; // all that is used
  const inventory = { forgetState: () => undefined, state: () => Promise.resolve('shutoff') };
  const host = { queue: new MachineQueue(), inventory, timeoutMs: 1_000 } as unknown as Host; // all that is used
  const start = () => Promise.reject(driverError('starting machine web-1', libvirtError(code, text)));
  const coldStart = { start } as unknown as ColdStart; // the only method that PowerControl calls
  const boot = {} as BootControl; // PowerControl does not use it for a power-on
  const control = new PowerControl({ host, boot, coldStart, gracefulRestartWaitMs: 1_000 });
  try {
    await control.power(machine, 'create', {});
  } finally {
    await control.close();
  }
}

describe('a power-on that fails while the machine runs', () => {
  it('succeeds if another client has started the machine', async () => {
    await powerOn('OPERATION_INVALID', 'Requested operation is not valid: domain is already running');
  });

  it('fails if its QEMU has ended, and libvirt has not noticed this yet', async () => {
    const ended = powerOn('OPERATION_FAILED', 'Unable to write to monitor: Broken pipe');
    await expect(ended).rejects.toMatchObject({ kind: 'conflict' });
  });
});
