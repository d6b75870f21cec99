/** What the owners of a machine may write on it. */
import { z } from 'zod';
import type { SystemChange } from '../drivers/system-change.js';

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

/** Returns the part of a change that a body's tag asks for. */
export function wantedTag({
  AssetTag: tag,
}: {
  readonly AssetTag?: string | null | undefined;
}): Pick<SystemChange, 'assetTag'> {
  return tag === undefined ? {} : { assetTag: tag ?? '' };
}
