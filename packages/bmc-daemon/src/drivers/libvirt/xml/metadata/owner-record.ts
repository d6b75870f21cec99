/** Data that clients store with a machine, as attributes of one metadata element. */
import type { FirmwareUpdate } from '../../../snapshot/system-snapshot.js';
import { attribute, type XmlElement } from '../parse.js';

/** A member is absent if no client has set it. */
export interface OwnerRecord {
  readonly assetTag?: string;
  readonly firmwareUpdate?: FirmwareUpdate;
}

/** Reads the record; null if it is empty. */
export function readOwnerRecord(element: XmlElement): OwnerRecord | null {
  const assetTag = attribute(element, 'assetTag');
  const [installed, staged] = [attribute(element, 'firmware'), attribute(element, 'stagedFirmware')];
  const record = {
    ...(assetTag === null ? {} : { assetTag }),
    ...(installed === null && staged === null ? {} : { firmwareUpdate: { installed, staged } }),
  };
  return Object.keys(record).length === 0 ? null : record;
}

/** Returns the attributes; null values are not written. */
export function renderOwnerRecord({ assetTag, firmwareUpdate }: OwnerRecord): Readonly<Record<string, string | null>> {
  return {
    assetTag: assetTag ?? null,
    firmware: firmwareUpdate?.installed ?? null,
    stagedFirmware: firmwareUpdate?.staged ?? null,
  };
}
