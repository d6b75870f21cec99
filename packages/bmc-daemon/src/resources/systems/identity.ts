/** Properties that administrators assign to a machine: asset tag and power restore policy. */
import { z } from 'zod';
import type { SystemChange } from '../../drivers/system-change.js';

/**
 * Power restore policies that libvirt's autostart can express.
 * @see DSP2046, ComputerSystem, PowerRestorePolicy
 */
export const powerRestorePolicies = ['AlwaysOn', 'AlwaysOff'] as const;

/** Schema of AssetTag: a line of printable text. Null and an empty text remove the tag. */
export const assetTagBody = {
  AssetTag: z
    .string()
    .max(256)
    .regex(/^[^\p{Cc}\p{Cs}\uFFFE\uFFFF]*$/u)
    .nullable()
    .optional(),
};

/** Returns the asset tag change of a body; empty without AssetTag. */
export function wantedTag({
  AssetTag: tag,
}: {
  readonly AssetTag?: string | null | undefined;
}): Pick<SystemChange, 'assetTag'> {
  return tag === undefined ? {} : { assetTag: tag ?? '' };
}
