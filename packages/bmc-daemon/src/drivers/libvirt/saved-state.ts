/** Machines that are off and go on where they were when they are started: libvirt's managed save, which hosts make as they go down. */
import { isLibvirtError } from '@rackless/libvirt';
import { attempt } from './failure.js';
import type { Machine } from './inventory.js';

/** @throws {DriverError} notFound, unavailable. */
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

/** Throws the saved state away, so that the next start is a boot; nothing where there is none. @throws {DriverError} */
export async function dropSavedState(machine: Machine, timeoutMs: number): Promise<void> {
  if (!(await hasSavedState(machine, timeoutMs))) return;
  await attempt(`dropping the saved state of machine ${machine.name}`, () =>
    machine.domain.managedSaveRemove({ timeoutMs }),
  );
}

/**
 * What the machine was when it was saved, and needs to go on. Its definition may say something else by now.
 * @returns null where there is no saved state, or nobody can tell (libvirt's test driver).
 * @throws {DriverError} notFound, unavailable.
 */
export async function savedXml(machine: Machine, timeoutMs: number): Promise<string | null> {
  if (!(await hasSavedState(machine, timeoutMs))) return null;
  return await attempt(`reading the saved state of machine ${machine.name}`, async () => {
    try {
      return await machine.domain.managedSaveGetXmlDesc({ timeoutMs });
    } catch (error) {
      // Started, or dropped, since it was looked for.
      if (isLibvirtError(error, 'OPERATION_INVALID', 'NO_SUPPORT')) return null;
      throw error;
    }
  });
}
