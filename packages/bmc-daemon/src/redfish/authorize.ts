/** Whether who asks may do what is asked for: the stage between the match and the resource. */
import { requirementOf, type Alternatives, type Privilege, type Requirement } from '../auth/privileges.js';
import type { Authenticated } from './authenticate.js';
import { RedfishError } from './errors.js';
import { message } from './messages.js';
import { encodeSegment } from './rendering.js';

/**
 * Lets pass or refuses.
 * @param isOwn whether it is about the account that asks (its own account, session, subscription); asked where it matters.
 * @returns null; or the only properties that a PATCH of this account may change.
 * @throws {RedfishError} 403.
 */
export type Guard = (who: Authenticated, method: string, isOwn: () => boolean) => ReadonlySet<string> | null;

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'];

/**
 * What guards a resource, worked out once.
 * @param entity of the privilege registry; one that it does not have is refused to everybody.
 * @param uri the resource's template.
 */
export function guardOf(entity: string, uri: string): Guard {
  const requirements = new Map(methods.map((method) => [method, requirementOf(entity, uri, method)]));
  return (who, method, isOwn) => {
    const requirement = requirements.get(method);
    if (requirement === undefined) throw forbidden(who);
    return permit(requirement, who, isOwn);
  };
}

function permit(
  { any, properties }: Requirement,
  who: Authenticated,
  isOwn: () => boolean,
): ReadonlySet<string> | null {
  if (holds(any, who.privileges, isOwn)) return null;
  const permitted = Object.entries(properties ?? {}).filter(([, some]) => holds(some, who.privileges, isOwn));
  if (permitted.length === 0) throw forbidden(who);
  return new Set(permitted.map(([name]) => name));
}

function holds(any: Alternatives, privileges: ReadonlySet<Privilege>, isOwn: () => boolean): boolean {
  for (const privilege of any) {
    if (privileges.has(privilege) && (privilege !== 'ConfigureSelf' || isOwn())) return true;
  }
  return false;
}

/** 403: for want of a privilege, or until the password is changed. */
export function forbidden({ user, passwordChangeRequired }: Authenticated): RedfishError {
  if (!passwordChangeRequired || user === null) return new RedfishError(403, [message('InsufficientPrivilege')]);
  return new RedfishError(403, [message('PasswordChangeRequired', accountUri(user))]);
}

/** `@odata.id` of an account. */
export function accountUri(user: string): string {
  return `/redfish/v1/AccountService/Accounts/${encodeSegment(user)}`;
}
