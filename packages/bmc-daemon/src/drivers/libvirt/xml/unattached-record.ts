/** Volumes on their way into a machine or out of it, as its metadata keeps them: one element, in JSON. */
import { z } from 'zod';
import { attribute, type XmlElement } from './parse.js';

/**
 * A volume that is on its way into a machine or out of it.
 * - Without `step` it is being made and no definition names it.
 * - `attach`: the definition names it, and the guest has to get it.
 * - `detach`: the definition names it no longer, the guest has to lose it, and the volume has to be deleted.
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

/** Null: none; also for what is not as this version writes it. */
export function readUnattachedRecords(element: XmlElement): readonly UnattachedRecord[] | null {
  try {
    return schema.parse(JSON.parse(attribute(element, 'kept') ?? '')) satisfies readonly UnattachedRecord[];
  } catch {
    // A slip in hand-edited metadata must not make a machine unreadable.
    return null;
  }
}

/** The attributes of the element. */
export function renderUnattachedRecords(records: readonly UnattachedRecord[]): Readonly<Record<string, string>> {
  return { kept: JSON.stringify(records) };
}

/** Returns the records with one more, in the place of an earlier one of the same volume. */
export function withUnattached(
  records: readonly UnattachedRecord[] | null,
  record: UnattachedRecord,
): readonly UnattachedRecord[] {
  return [...(withoutUnattached(records, record) ?? []), record];
}

/** The records without one; null where none is left. */
export function withoutUnattached(
  records: readonly UnattachedRecord[] | null,
  { pool, volume }: Pick<UnattachedRecord, 'pool' | 'volume'>,
): readonly UnattachedRecord[] | null {
  const left = (records ?? []).filter((record) => record.pool !== pool || record.volume !== volume);
  return left.length === 0 ? null : left;
}
