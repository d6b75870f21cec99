import type { Drive } from '../../../redfish/machine-facts.js';

/** Properties that the components of a drive share. */
export interface DriveProps {
  readonly drive: Drive;
  /** Reads the drives again. */
  readonly onChange: () => Promise<void>;
}
