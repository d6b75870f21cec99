/**
 * The services that the resources of the manager network use, and `defineResource` for these
 * services.
 */
import type { NetworkOfManagers } from '../manager-network.js';
import { resourceDefiner } from '../../redfish/resource.js';
import type { ServicesWith } from '../../resources/services.js';

/** The services of the manager network. */
export interface ManagerNetworkServices {
  /** Names, addresses and name servers of managers. */
  readonly managerNetwork: NetworkOfManagers;
}

/** The services that all resources use, and those of the manager network. */
type Services = ServicesWith<ManagerNetworkServices>;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
