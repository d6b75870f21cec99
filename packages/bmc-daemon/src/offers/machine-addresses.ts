/** The part of the feature manager network that selects the machine of a request or a console. */
import type { IncomingMessage } from 'node:http';

/** The names and addresses that belong to one machine's manager. */
export interface MachineAddresses {
  /**
   * Returns the UUID of the machine whose name or address a request uses; null for those of the
   * host.
   */
  readonly scopeOf: (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string | null;
  /** Returns the UUID of the machine with this address; null for an address of the host. */
  machineAt(address: string): string | null;
  /** Whether an address is stored for a manager, even if it is not set now. */
  isReserved(address: string): boolean;
}
