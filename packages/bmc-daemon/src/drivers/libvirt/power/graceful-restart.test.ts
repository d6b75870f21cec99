import { describe, expect, it } from '@jest/globals';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { DriverError } from '../../driver-error.js';
import { driverError } from '../failure.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { GracefulRestarts } from './graceful-restart.js';
import { switchedOffError } from './pending-starts.js';

const machine = { uuid: 'u', name: 'web-1' } as Machine; // all that GracefulRestarts uses

/** Returns what is logged if the restart after the wait fails with this error. */
async function loggedFor(error: DriverError): Promise<readonly unknown[]> {
  const logged: unknown[] = [];
  const events = { on: () => ({ ready: Promise.resolve(), remove: () => undefined }) };
  const log = { warn: (...entry: unknown[]) => logged.push(entry) };
  const host = { hypervisor: { events }, log } as unknown as Host; // all that GracefulRestarts uses
  let restarted: () => void = () => undefined;
  const hasRestarted = new Promise<void>((resolve) => (restarted = resolve));
  const onOutcome = (): Promise<void> => {
    restarted();
    return Promise.reject(error);
  };
  const restarts = new GracefulRestarts({ host, waitMs: 1, onOutcome });
  restarts.watch(machine, { newProcess: true });
  await hasRestarted;
  await restarts.close();
  return logged;
}

describe('a graceful restart', () => {
  it.each([
    'internal error: process exited while connecting to monitor',
    'operation failed: domain is no longer running',
  ])('logs why the machine stays off if its new QEMU ended: %s', async (text) => {
    const error = driverError('starting machine web-1', libvirtError('INTERNAL_ERROR', text));
    expect(error.kind).toBe('conflict');
    expect(await loggedFor(error)).toEqual([['restarting machine web-1 failed', { error }]]);
  });

  it('logs nothing if another client has switched the machine off or started it', async () => {
    const active = libvirtError('OPERATION_INVALID', 'Requested operation is not valid: domain is already running');
    expect(await loggedFor(driverError('starting machine web-1', active))).toEqual([]);
    expect(await loggedFor(switchedOffError(machine, new Error('ended')))).toEqual([]);
  });
});
