/** Roles: the three predefined roles of Redfish, and roles that clients create. */
import { z } from 'zod';
import { privilegeNames, type Privilege } from '../../redfish/privileges.js';
import { ROLE_ID, type Role } from '../roles.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import type { Requester } from '../../redfish/resource.js';
import { message, withDetail } from '../../redfish/messages/messages.js';
import { translateAccountErrors } from './account-faults.js';
import { renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';

const rolesUri = '/redfish/v1/AccountService/Roles';

/**
 * Maximum number of created roles. Each change writes the whole file of accounts and roles, so the file must
 * stay small.
 */
const MAX_ROLES = 100;

const assignedPrivileges = z.array(z.enum(privilegeNames)).max(privilegeNames.length);
/** The service has no OEM privileges, so the list must be empty. */
const oemPrivileges = z.array(z.never()).max(0).optional();

interface RoleChange {
  readonly AssignedPrivileges?: readonly Privilege[] | undefined;
}
const roleChange: z.ZodType<RoleChange> = z.strictObject({
  AssignedPrivileges: assignedPrivileges.optional(),
  OemPrivileges: oemPrivileges,
});
/** Body for predefined roles, whose privileges cannot change (DSP0266, roles). */
const nothingToChange: z.ZodType<RoleChange> = z.strictObject({});

function findRole({ access }: Services, roleId: string): Role {
  const role = access.roles.list().find(({ id }) => id === roleId);
  if (role === undefined) throw redfishError('ResourceNotFound', 'Role', roleId);
  return role;
}

/**
 * Rejects a privilege that the requester's own account does not have. The privilege registry lets accounts
 * with ConfigureManager write roles. Without this check such an account could add ConfigureUsers to its own
 * role and become an administrator.
 * @param added privileges that the role does not have yet.
 * @throws {RedfishError} 403 if the requester lacks one of them. Never throws in a service without accounts.
 */
function checkGrant(added: readonly Privilege[], { access }: Services, { user }: Requester): void {
  if (access.accounts === null || user === null) return;
  const heldPrivileges = access.accounts.find(user)?.identity.privileges;
  const missing = added.filter((privilege) => heldPrivileges?.has(privilege) !== true);
  if (missing.length === 0) return;
  const reason = `The account does not have ${missing.join(', ')}, and cannot give it to a role.`;
  throw new RedfishError(403, [withDetail(message('InsufficientPrivilege'), reason)]);
}

const roleCollection = defineResource({
  entity: 'RoleCollection',
  odataType: '#RoleCollection.RoleCollection',
  uri: rolesUri,
  load: ({ services }) => services.access.roles.list(),
  render: (roles) =>
    renderCollection(
      'Roles Collection',
      roles.map(({ id }) => `${rolesUri}/${id}`),
    ),
  post: {
    body: z.strictObject({
      // Clients also create roles with a POST to Roles/Members, so no role may have this name.
      RoleId: z
        .string()
        .regex(ROLE_ID)
        .regex(/^(?!Members$)/),
      AssignedPrivileges: assignedPrivileges,
      OemPrivileges: oemPrivileges,
    }),
    run: (_roles, { RoleId: roleId, AssignedPrivileges }, { services, requester }) =>
      translateAccountErrors({ roleId }, async () => {
        checkGrant(AssignedPrivileges, services, requester);
        const created = services.access.roles.list().filter(({ predefined }) => !predefined);
        if (created.length >= MAX_ROLES) throw redfishError('CreateLimitReachedForResource');
        await services.access.roles.create(roleId, [...new Set(AssignedPrivileges)]);
        return { created: { location: `${rolesUri}/${roleId}` } };
      }),
  },
});

const role = defineResource({
  entity: 'Role',
  odataType: '#Role.v1_3_3.Role',
  uri: '/redfish/v1/AccountService/Roles/{roleId}',
  load: ({ params, services }) => findRole(services, params.roleId),
  render: ({ id, privileges, predefined }) => ({
    Id: id,
    Name: `${id} Role`,
    RoleId: id,
    IsPredefined: predefined,
    AssignedPrivileges: privileges,
    OemPrivileges: [],
  }),
  patch: {
    body: ({ predefined }) => (predefined ? nothingToChange : roleChange),
    // The body has one schema for predefined roles, which accepts no property, and another one for custom roles.
    shape: ({ predefined }) => (predefined ? 'predefined' : 'custom'),
    apply: ({ id, privileges }, { AssignedPrivileges = privileges }, { services, requester }) =>
      translateAccountErrors({ roleId: id }, async () => {
        const addedPrivileges = AssignedPrivileges.filter((privilege) => !privileges.includes(privilege));
        checkGrant(addedPrivileges, services, requester);
        await services.access.roles.change(id, [...new Set(AssignedPrivileges)]);
        return undefined;
      }),
  },
  delete: ({ id, predefined }, { services }) =>
    translateAccountErrors({ roleId: id }, async () => {
      if (predefined)
        throw new RedfishError(409, [withDetail(message('ResourceCannotBeDeleted'), `${id} is a predefined role.`)]);
      await services.access.roles.remove(id);
      return undefined;
    }),
});

/** The roles and their collection. */
export const roleResources = [roleCollection, role];
