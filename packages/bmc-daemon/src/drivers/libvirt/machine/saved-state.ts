/**
 * Saved states: libvirt's managed save. A host can save its machines when it shuts down. At their
 * next start, the machines continue from the saved state.
 */
import { isLibvirtError } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import type { Machine } from './inventory.js';

/**
 * Returns whether a machine has a saved state; false if the hypervisor does not support saved states.
 * @throws {DriverError} notFound, unavailable.
 */
export async function hasSavedState({ name, domain }: Machine, timeoutMs: number): Promise<boolean> {
  return await attempt(`looking for a saved state of machine ${name}`, async () => {
    try {
      return await domain.hasManagedSaveImage({ timeoutMs });
    } catch (error) {
      if (isLibvirtError(error, 'NO_SUPPORT')) return false;
      throw error;
    }
  });
}

/**
 * Removes the saved state, so that the next start boots the guest. Ignores a machine without a saved state.
 * @throws {DriverError} notFound, unavailable.
 */
export async function dropSavedState(machine: Machine, timeoutMs: number): Promise<void> {
  if (!(await hasSavedState(machine, timeoutMs))) return;
  await attempt(`dropping the saved state of machine ${machine.name}`, () =>
    machine.domain.managedSaveRemove({ timeoutMs }),
  );
}

/**
 * Returns the XML of the saved state. The machine continues with this XML, even if the definition
 * has changed since.
 * @returns null if there is no saved state, or if the hypervisor supports no saved states or does not return
 *   their XML (libvirt's test driver).
 * @throws {DriverError} notFound, unavailable.
 */
export async function savedXml(machine: Machine, timeoutMs: number): Promise<string | null> {
  if (!(await hasSavedState(machine, timeoutMs))) return null;
  return await attempt(`reading the saved state of machine ${machine.name}`, async () => {
    try {
      return await machine.domain.managedSaveGetXmlDesc({ timeoutMs });
    } catch (error) {
      // OPERATION_INVALID: another client has started the machine or removed the state meanwhile. NO_SUPPORT: the
      // test driver has saved states, but not this call.
      if (isLibvirtError(error, 'OPERATION_INVALID', 'NO_SUPPORT')) return null;
      throw error;
    }
  });
}
