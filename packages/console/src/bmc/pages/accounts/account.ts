/** Accounts and roles of the service. */
import type { Member } from '../../collection.js';

/** The URI of the accounts. */
export const ACCOUNTS = '/redfish/v1/AccountService/Accounts';

/** A ManagerAccount of Redfish. */
export interface Account extends Member {
  readonly UserName: string;
  readonly RoleId: string;
  readonly Enabled: boolean;
  readonly Locked: boolean;
  readonly PasswordChangeRequired: boolean;
}

/** A Role of Redfish. */
export interface Role extends Member {
  readonly RoleId: string;
  readonly AssignedPrivileges: readonly string[];
}
