/** Roles: a name for some privileges. The three predefined ones never change; others are made by administrators. */
import { privilegeNames, type Privilege } from './privileges.js';

export interface Role {
  /** `Administrator`. */
  readonly id: string;
  readonly privileges: readonly Privilege[];
  readonly predefined: boolean;
}

/** Who is in the password file alone has it: whoever may write that file may do everything anyway. */
export const administrator = 'Administrator';

/** DSP0266, roles: their names and privileges are fixed. */
export const predefinedRoles: readonly Role[] = [
  { id: administrator, privileges: privilegeNames, predefined: true },
  { id: 'Operator', privileges: ['Login', 'ConfigureComponents', 'ConfigureSelf'], predefined: true },
  { id: 'ReadOnly', privileges: ['Login', 'ConfigureSelf'], predefined: true },
];

/** The name of a role is a URI segment without percent-encoding. Stored roles are read with it, so it must never become stricter. */
export const ROLE_ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
