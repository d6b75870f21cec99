/** Volumes that are being made for a machine, as its metadata keeps them until they are attached: one element, in JSON. */
import { z } from 'zod';
import { attribute, type XmlElement } from './parse.js';

/** A volume that stands in no definition yet. Whoever finds one that nobody is making any more may delete it. */
export interface UnattachedRecord {
  readonly pool: string;
  readonly volume: string;
}

const schema = z.array(z.object({ pool: z.string(), volume: z.string() }));

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

/** The records with one more. */
export function withUnattached(
  records: readonly UnattachedRecord[] | null,
  record: UnattachedRecord,
): readonly UnattachedRecord[] {
  return [...(records ?? []), record];
}

/** The records without one; null where none is left. */
export function withoutUnattached(
  records: readonly UnattachedRecord[] | null,
  { pool, volume }: UnattachedRecord,
): readonly UnattachedRecord[] | null {
  const left = (records ?? []).filter((record) => record.pool !== pool || record.volume !== volume);
  return left.length === 0 ? null : left;
}
