/** What the daemon keeps of single disks in a machine's metadata: one element, with the records in JSON. */
import { z } from 'zod';
import type { IndicatorState } from '../../driver.js';
import { attribute, type XmlElement } from './parse.js';

/** What is kept of one disk. */
export interface DiskRecord {
  readonly target: string;
  /** As {@link DiskSource.name}: a disk with another source is another disk by the same name. */
  readonly source: string | null;
  readonly indicator: IndicatorState | null;
  /** Of a volume that was made over Redfish: its name, its size and the configured storage that it is shown in. */
  readonly name: string | null;
  readonly capacityBytes: number | null;
  readonly storage: string | null;
}

const schema = z.array(
  z.object({
    target: z.string(),
    source: z.string().nullable(),
    indicator: z.enum(['lit', 'off', 'blinking']).nullable(),
    name: z.string().nullable(),
    capacityBytes: z.number().nullable(),
    storage: z.string().nullable(),
  }),
);

/** Null: nothing; also for what is not as this version writes it. */
export function readDiskRecords(element: XmlElement): readonly DiskRecord[] | null {
  try {
    return schema.parse(JSON.parse(attribute(element, 'kept') ?? '')) satisfies readonly DiskRecord[];
  } catch {
    // A slip in hand-edited metadata must not make a machine unreadable.
    return null;
  }
}

/** The attributes of the element. */
export function renderDiskRecords(records: readonly DiskRecord[]): Readonly<Record<string, string>> {
  return { kept: JSON.stringify(records) };
}

/** The record of a disk that has this source now; undefined: there is none. */
export function diskRecord(
  records: readonly DiskRecord[] | null,
  { target, source }: Pick<DiskRecord, 'target' | 'source'>,
): DiskRecord | undefined {
  return records?.find((record) => record.target === target && record.source === source);
}

/** The records with this one in place of the one for its target. */
export function withDiskRecord(records: readonly DiskRecord[] | null, record: DiskRecord): readonly DiskRecord[] {
  return [...(records ?? []).filter(({ target }) => target !== record.target), record];
}

/** The records without that of a target; null where none is left. */
export function withoutDiskRecord(records: readonly DiskRecord[] | null, target: string): readonly DiskRecord[] | null {
  const left = (records ?? []).filter((record) => record.target !== target);
  return left.length === 0 ? null : left;
}
