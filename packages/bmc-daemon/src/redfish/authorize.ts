/** Checks the privileges of a client before the resource runs. */
import { requirementOf, type Alternatives, type Privilege, type Requirement } from './privileges.js';
import type { Authenticated } from './authenticate.js';
import { RedfishError } from './messages/errors.js';
import { message } from './messages/messages.js';
import { encodeSegment } from './rendering.js';

/**
 * Checks whether a client may use a method of a resource.
 * @param isOwn whether the resource is the client's own account, session or subscription; called
 *   only if the result depends on it.
 * @returns for a PATCH: the only properties that the client may change; null if it may change all. For
 *   any other method: null.
 * @throws {RedfishError} 403 if the client may not use the method.
 */
export type Guard = (identity: Authenticated, method: string, isOwn: () => boolean) => ReadonlySet<string> | null;

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'];

/**
 * Returns the guard of a resource.
 * @param entity a name of the privilege registry. For an unknown name, the guard rejects every
 *   client.
 * @param uri the resource's template.
 */
export function guardOf(entity: string, uri: string): Guard {
  const requirements = new Map(methods.map((method) => [method, requirementOf(entity, uri, method)]));
  return (identity, method, isOwn) => {
    const requirement = requirements.get(method);
    if (requirement === undefined) throw forbiddenError(identity);
    return permit(requirement, identity, isOwn);
  };
}

function permit(
  { any, properties }: Requirement,
  identity: Authenticated,
  isOwn: () => boolean,
): ReadonlySet<string> | null {
  if (hasPrivilege(any, identity.privileges, isOwn)) return null;
  const permitted = Object.entries(properties ?? {}).filter(([, some]) =>
    hasPrivilege(some, identity.privileges, isOwn),
  );
  if (permitted.length === 0) throw forbiddenError(identity);
  return new Set(permitted.map(([name]) => name));
}

function hasPrivilege(any: Alternatives, privileges: ReadonlySet<Privilege>, isOwn: () => boolean): boolean {
  for (const privilege of any) {
    if (privileges.has(privilege) && (privilege !== 'ConfigureSelf' || isOwn())) return true;
  }
  return false;
}

/** Returns the 403 for a missing privilege, or for a password that must be changed first. */
export function forbiddenError({ user, passwordChangeRequired }: Authenticated): RedfishError {
  if (!passwordChangeRequired || user === null) return new RedfishError(403, [message('InsufficientPrivilege')]);
  return new RedfishError(403, [message('PasswordChangeRequired', accountUri(user))]);
}

/** Returns the `@odata.id` of an account. */
export function accountUri(user: string): string {
  return `/redfish/v1/AccountService/Accounts/${encodeSegment(user)}`;
}
