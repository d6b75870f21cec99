/** Boot override of a machine: the device of the next boot, or of all boots. */
import { CommandFailure, exitCode } from '../failure.js';
import { objectAt, textAt, textsAt, type Resource } from '../redfish/resource.js';
import { completeTask, type TaskOptions } from '../redfish/task.js';
import type { Machine } from './machine.js';

/** Redfish's boot sources by the names on the command line. */
export const bootTargets: Readonly<Record<string, string>> = {
  pxe: 'Pxe',
  cd: 'Cd',
  hdd: 'Hdd',
  usb: 'Usb',
  floppy: 'Floppy',
  'sd-card': 'SDCard',
  'uefi-http': 'UefiHttp',
  'uefi-shell': 'UefiShell',
  'bios-setup': 'BiosSetup',
  diags: 'Diags',
  utilities: 'Utilities',
};

/** Redfish's boot modes by the names on the command line. */
export const bootModes = { uefi: 'UEFI', legacy: 'Legacy' } as const;

/** The boot settings of a machine, with Redfish's values. */
interface BootState {
  readonly target: string | undefined;
  /** `Once`, `Continuous` or `Disabled`. */
  readonly enabled: string | undefined;
  /** `UEFI` or `Legacy`. */
  readonly mode: string | undefined;
  /** The targets that the machine supports; undefined if the service does not list them. */
  readonly targets: readonly string[] | undefined;
  readonly order: readonly string[] | undefined;
  readonly httpUri: string | undefined;
}

/** Returns the boot settings that the service reported when the command read the machine. */
export function bootOf({ resource }: Machine): BootState {
  const boot = objectAt(resource, 'Boot');
  return {
    target: textAt(boot, 'BootSourceOverrideTarget'),
    enabled: textAt(boot, 'BootSourceOverrideEnabled'),
    mode: textAt(boot, 'BootSourceOverrideMode'),
    targets: textsAt(boot, 'BootSourceOverrideTarget@Redfish.AllowableValues'),
    order: textsAt(boot, 'BootOrder'),
    httpUri: textAt(boot, 'HttpBootUri'),
  };
}

/** A change of the boot override. */
interface BootChange {
  /** One of Redfish's boot sources. */
  readonly target: string;
  readonly enabled: 'Once' | 'Continuous';
  readonly mode: (typeof bootModes)[keyof typeof bootModes] | undefined;
  /** URL of the image that the target `UefiHttp` boots. */
  readonly httpUri: string | undefined;
}

/**
 * Sets the boot override.
 * @throws {CommandFailure} if the service has a list of boot sources that lacks this one, or if the request or
 *   its task fails.
 */
export async function setBoot(machine: Machine, change: BootChange, options: TaskOptions): Promise<void> {
  const { targets } = bootOf(machine);
  if (targets?.includes(change.target) === false)
    throw new CommandFailure(
      exitCode.failed,
      `the machine cannot boot from ${change.target}. It can boot from: ${targets.join(', ')}`,
    );
  await patchBoot(
    machine,
    {
      BootSourceOverrideTarget: change.target,
      BootSourceOverrideEnabled: change.enabled,
      ...(change.mode === undefined ? {} : { BootSourceOverrideMode: change.mode }),
      ...(change.httpUri === undefined ? {} : { HttpBootUri: change.httpUri }),
    },
    options,
  );
}

/** Removes the boot override, so that the machine boots in its own order. @throws {CommandFailure} */
export async function clearBoot(machine: Machine, options: TaskOptions): Promise<void> {
  const { targets } = bootOf(machine);
  const target = targets?.includes('None') === true ? { BootSourceOverrideTarget: 'None' } : {};
  await patchBoot(machine, { BootSourceOverrideEnabled: 'Disabled', ...target }, options);
}

async function patchBoot({ service, uri }: Machine, Boot: Resource, options: TaskOptions): Promise<void> {
  await completeTask(service, await service.patch(uri, { Boot }, 'changing the boot override'), options);
}
