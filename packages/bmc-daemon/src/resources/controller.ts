/** The service as the management controller that clients take it for: one for all machines. */
import type { HostNetwork } from '../host-network.js';

export interface Controller {
  /** URLs that the service listens at: `http://127.0.0.1:8000`. */
  readonly addresses: readonly string[];
  /** The host's, as far as the service can be reached over it. */
  readonly network: () => HostNetwork;
  /** When the configuration was last read. */
  readonly lastReset: Date;
  /** Reads the configuration again, after the answer to the request that asks for it. Never throws. */
  reset(): void;
}
