/** Operations on machines. Each function resolves when the service has finished the operation. */
import { patch, post } from './client.js';
import type { Machine } from './machines.js';
import { completeTask } from './tasks.js';

/** A boot override; `Disabled`: the machine uses its boot order. */
export type BootOverride =
  { readonly enabled: 'Disabled' } | { readonly enabled: 'Once' | 'Continuous'; readonly target: string };

/**
 * Performs ComputerSystem.Reset.
 * @throws {RedfishFailure} if the service rejects the reset or does not answer, or if the task of the reset fails.
 */
export async function resetMachine(machine: Machine, type: string): Promise<void> {
  const target = machine.Actions?.['#ComputerSystem.Reset']?.target;
  await completeTask(await post(target ?? `${machine['@odata.id']}/Actions/ComputerSystem.Reset`, { ResetType: type }));
}

/** Sets or removes the boot override of a machine. @throws {RedfishFailure} as {@link patch}. */
export async function setBootOverride(machine: Machine, wanted: BootOverride): Promise<void> {
  const target = wanted.enabled === 'Disabled' ? {} : { BootSourceOverrideTarget: wanted.target };
  await patch(machine['@odata.id'], { Boot: { BootSourceOverrideEnabled: wanted.enabled, ...target } });
}
