/** What can stand in the way of a change of accounts and roles, in Redfish's words. */
import { AccountError } from '../auth/accounts.js';
import { CredentialsError } from '../auth/password-file-writer.js';
import { RedfishError, refuse } from '../redfish/errors.js';
import { about, message, sentence, withDetail, type Message } from '../redfish/messages.js';

/** What the request is about, for its messages. */
export interface AccountSubject {
  readonly user?: string;
  readonly roleId?: string;
}

/**
 * Carries out a change and tells what is in its way.
 * @throws {RedfishError}
 */
export async function telling<Result>(
  subject: AccountSubject,
  change: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    throw translate(error, subject);
  }
}

function translate(error: unknown, subject: AccountSubject): unknown {
  if (error instanceof AccountError) return ofAccount(error, subject);
  if (error instanceof CredentialsError)
    return badRequest(propertyError(error.about === 'user' ? 'UserName' : 'Password', error.message));
  return error;
}

function ofAccount(error: AccountError, { user = '', roleId = '' }: AccountSubject): RedfishError {
  switch (error.kind) {
    case 'exists':
      return user === ''
        ? refuse('ResourceAlreadyExists', 'Role', 'RoleId', roleId)
        : refuse('ResourceAlreadyExists', 'ManagerAccount', 'UserName', user);
    case 'gone':
      return refuse('ResourceNotFound', 'ManagerAccount', user);
    case 'lastAdministrator':
      return new RedfishError(409, [withDetail(message('AccountNotModified'), sentence(error.message))], {}, error);
    case 'roleUnknown':
      return badRequest(about(message('PropertyValueNotInList', roleId, 'RoleId'), '#/RoleId'));
    case 'roleInUse':
      return new RedfishError(409, [withDetail(message('ResourceInUse'), sentence(error.message))], {}, error);
    case 'samePassword':
      return badRequest(propertyError('Password', error.message));
  }
}

function badRequest(fault: Message): RedfishError {
  return new RedfishError(400, [fault]);
}

function propertyError(name: string, reason: string): Message {
  return about(withDetail(message('PropertyValueError', name), sentence(reason)), `#/${name}`);
}
