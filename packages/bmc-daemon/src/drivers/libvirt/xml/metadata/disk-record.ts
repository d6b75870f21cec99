/** Records of single disks in a machine's metadata. */
import type { IndicatorState } from '../../../snapshot/hardware-snapshot.js';

/** The record of one disk. */
export interface DiskRecord {
  readonly target: string;
  /**
   * The source, as {@link DiskSource.name}. A disk with the same target and another source is a
   * different disk.
   */
  readonly source: string | null;
  readonly indicator: IndicatorState | null;
  /** For a volume that was created over Redfish: its name, its size and the Id of the storage that shows it. */
  readonly name: string | null;
  readonly capacityBytes: number | null;
  readonly storage: string | null;
}

/** Returns the record with the given target and source, or undefined. */
export function diskRecord(
  records: readonly DiskRecord[] | null,
  { target, source }: Pick<DiskRecord, 'target' | 'source'>,
): DiskRecord | undefined {
  return records?.find((record) => record.target === target && record.source === source);
}

/** Adds a record. It replaces a record with the same target. */
export function withDiskRecord(records: readonly DiskRecord[] | null, record: DiskRecord): readonly DiskRecord[] {
  return [...(records ?? []).filter(({ target }) => target !== record.target), record];
}

/** Returns the records without the record of the given target; null if none is left. */
export function withoutDiskRecord(records: readonly DiskRecord[] | null, target: string): readonly DiskRecord[] | null {
  const left = (records ?? []).filter((record) => record.target !== target);
  return left.length === 0 ? null : left;
}
