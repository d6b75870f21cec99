/** Translates errors of account and role changes to Redfish messages. */
import { AccountError } from '../accounts.js';
import { CredentialsError } from '../../password-file/password-file-writer.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, sentence, withDetail, type Message } from '../../redfish/messages/messages.js';

/** The account or role of the request. Error messages contain it. */
interface AccountSubject {
  readonly user?: string;
  readonly roleId?: string;
}

/**
 * Makes a change and translates its errors.
 * @throws {RedfishError} 400, 404 or 409 in place of an AccountError or a CredentialsError. Throws
 *   other errors unchanged.
 */
export async function translateAccountErrors<Result>(
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
  if (error instanceof AccountError) return translateAccountError(error, subject);
  if (error instanceof CredentialsError)
    return badRequest(propertyError(error.about === 'user' ? 'UserName' : 'Password', error.message));
  return error;
}

function translateAccountError(error: AccountError, { user = '', roleId = '' }: AccountSubject): RedfishError {
  switch (error.kind) {
    case 'exists':
      return user === ''
        ? redfishError('ResourceAlreadyExists', 'Role', 'RoleId', roleId)
        : redfishError('ResourceAlreadyExists', 'ManagerAccount', 'UserName', user);
    case 'notFound':
      return redfishError('ResourceNotFound', 'ManagerAccount', user);
    case 'lastAdministrator':
      return new RedfishError(409, [withDetail(message('AccountNotModified'), sentence(error.message))], {}, error);
    case 'roleUnknown':
      return badRequest(withPointers(message('PropertyValueNotInList', roleId, 'RoleId'), '#/RoleId'));
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
  return withPointers(withDetail(message('PropertyValueError', name), sentence(reason)), `#/${name}`);
}
