/** The services that the resources of accounts use, and `defineResource` for these services. */
import type { Access } from '../access.js';
import { resourceDefiner } from '../../redfish/resource.js';
import type { ServicesWith } from '../../resources/services.js';

/** The services of accounts. */
export interface AccountServices {
  readonly access: Access;
}

/** The services that all resources use, and the services of accounts. */
export type Services = ServicesWith<AccountServices>;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
