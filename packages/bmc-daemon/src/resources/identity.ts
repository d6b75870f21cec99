/** What the owners of a machine may write on it. */
import { z } from 'zod';
import { DriverError } from '../drivers/driver.js';
import type { OwnershipControl } from '../drivers/ownership-control.js';
import type { Services } from './services.js';

/** What libvirt's autostart knows. */
export const powerRestorePolicies = ['AlwaysOn', 'AlwaysOff'] as const;

/** One line of printable text, as it stands on a label; null and empty: no tag any more. */
export const assetTagBody = {
  AssetTag: z
    .string()
    .max(256)
    .regex(/^[^\p{Cc}\p{Cs}\uFFFE\uFFFF]*$/u)
    .nullable()
    .optional(),
};

/** Keeps the tag of a PATCH's body, where it has one. @throws {DriverError} */
export async function applyAssetTag(
  uuid: string,
  { AssetTag: tag }: { readonly AssetTag?: string | null | undefined },
  services: Services,
): Promise<void> {
  if (tag !== undefined) await ownership(services).setAssetTag(uuid, tag ?? '');
}

/** @throws {DriverError} unsupported, where the hypervisor keeps nothing. */
export function ownership({ driver }: Services): OwnershipControl {
  if (driver.ownership === undefined) {
    throw new DriverError('unsupported', 'keeping something with the machine: the hypervisor can not');
  }
  return driver.ownership;
}
