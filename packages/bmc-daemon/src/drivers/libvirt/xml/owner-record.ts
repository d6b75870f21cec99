/** What a machine's owners keep with it, as attributes of one element of its metadata. */
import type { FirmwareUpdate } from '../../driver.js';
import { attribute, type XmlElement } from './parse.js';

/** Absent: never set. */
export interface OwnerRecord {
  readonly assetTag?: string;
  readonly firmwareUpdate?: FirmwareUpdate;
}

/** Null where nothing in it is ours. */
export function readOwnerRecord(element: XmlElement): OwnerRecord | null {
  const assetTag = attribute(element, 'assetTag');
  const [installed, staged] = [attribute(element, 'firmware'), attribute(element, 'stagedFirmware')];
  const record = {
    ...(assetTag === null ? {} : { assetTag }),
    ...(installed === null && staged === null ? {} : { firmwareUpdate: { installed, staged } }),
  };
  return Object.keys(record).length === 0 ? null : record;
}

/** Attributes; null is not written. */
export function renderOwnerRecord({ assetTag, firmwareUpdate }: OwnerRecord): Readonly<Record<string, string | null>> {
  return {
    assetTag: assetTag ?? null,
    firmware: firmwareUpdate?.installed ?? null,
    stagedFirmware: firmwareUpdate?.staged ?? null,
  };
}
