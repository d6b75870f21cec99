/** Data that clients store with a machine. */
import type { FirmwareUpdate } from '../../../snapshot/system-snapshot.js';

/** A member is absent if no client has set it. */
export interface OwnerRecord {
  readonly assetTag?: string;
  readonly firmwareUpdate?: FirmwareUpdate;
}
