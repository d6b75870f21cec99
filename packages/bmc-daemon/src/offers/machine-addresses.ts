/**
 * The part of the feature `managerNetwork` that finds machines. It finds the machine of a request by the name or
 * address of the machine's manager, and the machine of a console by the address.
 */
import type { IncomingMessage } from 'node:http';

/** Finds machines by the names and addresses of their managers. */
export interface MachineAddresses {
  /**
   * Returns the UUID of the machine whose manager received a request, by the name in the `Host`
   * header or by the address of the socket. Returns null for all other names and addresses, such
   * as those of the host.
   */
  readonly scopeOf: (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string | null;
  /**
   * Returns the UUID of the machine whose manager has the given address; null for all other
   * addresses, such as those of the host.
   */
  machineAt(address: string): string | null;
  /**
   * Returns whether an address belongs to a manager. The address may be absent from the host's
   * interfaces at present.
   */
  isReserved(address: string): boolean;
}
