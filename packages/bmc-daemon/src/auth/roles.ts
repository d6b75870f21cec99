/**
 * Roles: named sets of privileges. The three predefined roles never change; administrators create
 * others.
 */
import { privilegeNames, type Privilege } from '../redfish/privileges.js';

/**
 * A role with its privileges.
 * @see DSP0266, roles; DSP2046, Role
 */
export interface Role {
  /** For example `Administrator`. */
  readonly id: string;
  readonly privileges: readonly Privilege[];
  readonly predefined: boolean;
}

/**
 * The role of a user who is only in the password file. A program that can write that file can also
 * set the password of an administrator, so a lower role would protect nothing.
 */
export const administrator = 'Administrator';

/** DSP0266, roles: the names and privileges are fixed. */
export const predefinedRoles: readonly Role[] = [
  { id: administrator, privileges: privilegeNames, predefined: true },
  { id: 'Operator', privileges: ['Login', 'ConfigureComponents', 'ConfigureSelf'], predefined: true },
  { id: 'ReadOnly', privileges: ['Login', 'ConfigureSelf'], predefined: true },
];

/**
 * A role's name is a URI segment without percent-encoding. The daemon also checks stored roles with
 * this pattern, so the pattern must never become stricter.
 */
export const ROLE_ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
