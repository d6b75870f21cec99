/**
 * Records of volumes that are being attached or removed, in a machine's metadata: one element, with
 * JSON.
 */
import { z } from 'zod';
import { attribute, type XmlElement } from '../parse.js';

/**
 * A volume that is being attached or removed.
 * - Without `step`, the daemon creates it and no definition names it.
 * - `attach`: the definition names it, and the guest must get it.
 * - `detach`: the definition does not name it any more. The guest must release it, and the volume
 *   must be deleted.
 */
export interface UnattachedRecord {
  readonly pool: string;
  readonly volume: string;
  readonly step?: { readonly kind: 'attach' | 'detach'; readonly target: string };
}

const schema = z.array(
  z.object({
    pool: z.string(),
    volume: z.string(),
    step: z.object({ kind: z.enum(['attach', 'detach']), target: z.string() }).exactOptional(),
  }),
);

/** Reads the records; null if there are none, or the format is unknown. */
export function readUnattachedRecords(element: XmlElement): readonly UnattachedRecord[] | null {
  try {
    return schema.parse(JSON.parse(attribute(element, 'kept') ?? '')) satisfies readonly UnattachedRecord[];
  } catch {
    // A mistake in edited metadata must not make a machine unreadable.
    return null;
  }
}

/** Returns the attributes of the element. */
export function renderUnattachedRecords(records: readonly UnattachedRecord[]): Readonly<Record<string, string>> {
  return { kept: JSON.stringify(records) };
}

/** Returns the records with this record, which replaces one of the same volume. */
export function withUnattached(
  records: readonly UnattachedRecord[] | null,
  record: UnattachedRecord,
): readonly UnattachedRecord[] {
  return [...(withoutUnattached(records, record) ?? []), record];
}

/** Returns the records without this one; null if none is left. */
export function withoutUnattached(
  records: readonly UnattachedRecord[] | null,
  { pool, volume }: Pick<UnattachedRecord, 'pool' | 'volume'>,
): readonly UnattachedRecord[] | null {
  const left = (records ?? []).filter((record) => record.pool !== pool || record.volume !== volume);
  return left.length === 0 ? null : left;
}
