/** The interface of the parts of a drive. */
import type { Drive } from '../../../redfish/machine-facts.js';

/** Properties of the parts of a drive. */
export interface DriveProps {
  readonly drive: Drive;
  /** Reads the drives again. */
  readonly onChange: () => Promise<void>;
}
