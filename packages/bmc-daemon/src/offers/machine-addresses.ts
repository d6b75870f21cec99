/** The part of the feature manager network that selects the machine of a request or a console. */
import type { IncomingMessage } from 'node:http';

/** The names and addresses of managers; each belongs to the manager of one machine. */
export interface MachineAddresses {
  /**
   * Returns the UUID of the machine whose name or address a request uses; null for those of the
   * host.
   */
  readonly scopeOf: (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string | null;
  /** Returns the UUID of the machine whose manager has this address; null for an address of the host. */
  machineAt(address: string): string | null;
  /** Whether an address is stored for a manager, even if it is not set now. */
  isReserved(address: string): boolean;
}
