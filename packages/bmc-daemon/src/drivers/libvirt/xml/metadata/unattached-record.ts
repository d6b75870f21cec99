/** Records of volumes that are being attached or removed, in a machine's metadata. */

/**
 * A volume that is being attached or removed.
 * - Without `step`: the daemon is creating it, or no definition names it yet.
 * - `attach`: the definition names it, and the guest must get it.
 * - `detach`: the definition does not name it anymore. The guest must release it, and the volume
 *   must be deleted.
 */
export interface UnattachedRecord {
  readonly pool: string;
  readonly volume: string;
  readonly step?: { readonly kind: 'attach' | 'detach'; readonly target: string };
}

/** Adds a record. It replaces a record of the same volume. */
export function withUnattached(
  records: readonly UnattachedRecord[] | null,
  record: UnattachedRecord,
): readonly UnattachedRecord[] {
  return [...(withoutUnattached(records, record) ?? []), record];
}

/** Returns the records without the record of the given volume; null if none is left. */
export function withoutUnattached(
  records: readonly UnattachedRecord[] | null,
  { pool, volume }: Pick<UnattachedRecord, 'pool' | 'volume'>,
): readonly UnattachedRecord[] | null {
  const left = (records ?? []).filter((record) => record.pool !== pool || record.volume !== volume);
  return left.length === 0 ? null : left;
}
