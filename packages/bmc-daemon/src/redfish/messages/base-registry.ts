/**
 * Messages of the Base registry, with our own texts. The service does not send all of them. A test
 * compares keys, argument types and severities with DMTF's registry. The status is the HTTP status
 * that usually goes with the message.
 * @see https://redfish.dmtf.org/registries/Base.1.22.1.json
 */

/**
 * The first part of each `MessageId`, `<registry>.<key>`, without the errata version (DSP0266,
 * MessageId format).
 */
export const baseRegistry = 'Base.1.22';

/** DMTF's severities of a message (MessageRegistry, MessageSeverity). */
export type Severity = 'OK' | 'Warning' | 'Critical';
type ArgumentType = 'string' | 'number';
/** The argument values of a message, from DMTF's ParamTypes. */
export type Arguments<Types extends readonly ArgumentType[]> = {
  readonly [K in keyof Types]: Types[K] extends 'number' ? number : string;
};

interface Template<Types extends readonly ArgumentType[]> {
  readonly status: number;
  readonly severity: Severity;
  readonly args: Types;
  /** `%1` is the first argument. */
  readonly text: string;
  readonly resolution: string;
}

function template<const Types extends readonly ArgumentType[]>(
  status: number,
  severity: Severity,
  args: Types,
  text: string,
  resolution: string,
): Template<Types> {
  return { status, severity, args, text, resolution };
}

const noAction = 'No action is needed.';
const leaveOut = 'Leave the property out and send the request again.';
const correctValue = 'Correct the value and send the request again.';
const correctArray = 'Correct the length of the array and send the request again.';
const correctString = 'Correct the length of the string and send the request again.';

const s1 = ['string'] as const;
const s2 = ['string', 'string'] as const;
const s3 = ['string', 'string', 'string'] as const;
const sn = ['string', 'number'] as const;

/**
 * The messages by registry key:
 * `template(status, severity, arguments, text, resolution)`.
 */
// Prettier would write each argument on its own line.
// prettier-ignore
export const messageTable = {
  Success: template(200, 'OK', [], 'Done.', noAction),
  Created: template(201, 'OK', [], 'The resource was created.', noAction),
  GeneralError: template(500, 'Critical', [],
    'The request failed; @Message.ExtendedInfo contains the reason.',
    'Follow the resolutions of the messages in @Message.ExtendedInfo.'),
  InternalError: template(500, 'Critical', [],
    'The request failed because of an internal error. The service continues to run.',
    'Retry the request. If it fails again, search the log of the service for its X-Request-Id.'),

  // Bodies
  MalformedJSON: template(400, 'Critical', [],
    'The body is not JSON.', 'Correct the syntax of the body and send the request again.'),
  EmptyJSON: template(400, 'Warning', [],
    'The body is an empty object, and the request needs content.', 'Put at least one property into the body.'),
  UnrecognizedRequestBody: template(400, 'Warning', [],
    'The service cannot interpret the body.', 'Send a JSON object with Content-Type application/json.'),
  PayloadTooLarge: template(413, 'Critical', [],
    'The body is larger than this service accepts.', 'Send a smaller body.'),
  NoOperation: template(400, 'Warning', [],
    'The body contains no change, so nothing was changed.', 'Put at least one writable property into the body.'),
  MaximumErrorsExceeded: template(400, 'Critical', [],
    'There are more faults than this answer lists.', 'Correct the listed faults and send the request again.'),

  // Properties of a body
  PropertyUnknown: template(400, 'Warning', s1, 'This resource has no property %1.', leaveOut),
  PropertyNotWritable: template(400, 'Warning', s1, 'The property %1 is read-only.', leaveOut),
  PropertyMissing: template(400, 'Warning', s1,
    'The property %1 is required and was not sent.', 'Add the property and send the request again.'),
  PropertyValueTypeError: template(400, 'Warning', s2,
    "The value '%1' has the wrong type for the property %2.", correctValue),
  PropertyValueFormatError: template(400, 'Warning', s2,
    "The value '%1' has the wrong format for the property %2.", correctValue),
  PropertyValueNotInList: template(400, 'Warning', s2,
    "The value '%1' is not one that the property %2 accepts.", 'Choose one of the accepted values.'),
  PropertyValueOutOfRange: template(400, 'Warning', s2,
    "The value '%1' is outside the range of the property %2.", correctValue),
  PropertyValueError: template(400, 'Warning', s1, 'The value of the property %1 is not valid.', correctValue),
  PropertyValueIncorrect: template(400, 'Warning', s2, "The property %1 cannot have the value '%2'.", correctValue),
  PropertyValueConflict: template(400, 'Warning', s2,
    "The property '%1' was not written: its value contradicts that of the property '%2'.",
    'Change one of the two and send the request again.'),
  PropertyValueExternalConflict: template(409, 'Warning', s2,
    "The property '%1' was not set to '%2': the machine's configuration does not allow this value.",
    'Change the configuration of the machine, or choose another value.'),
  PropertyValueResourceConflict: template(409, 'Warning', s3,
    "The property '%1' was not set to '%2': the state of the resource at '%3' does not allow it.",
    'Change the state of that resource and send the request again.'),
  PropertyDuplicate: template(400, 'Warning', s1,
    'The property %1 occurs more than once in the body.', 'Send the property once.'),
  PropertyValueModified: template(200, 'Warning', s2,
    "The service set the property %1 to '%2', which differs from the requested value.", noAction),
  PropertyNotUpdated: template(200, 'Critical', s1,
    'The service did not change the property %1. The rest of the request is not affected.',
    'Search the configuration and the log of the service for the reason.'),
  StringValueTooLong: template(400, 'Warning', sn, "The string '%1' is longer than %2 characters.", correctString),
  StringValueTooShort: template(400, 'Warning', sn, "The string '%1' is shorter than %2 characters.", correctString),
  ArraySizeTooLong: template(400, 'Warning', sn,
    'The array of the property %1 has more than %2 members.', correctArray),
  ArraySizeTooShort: template(400, 'Warning', sn,
    'The array of the property %1 has fewer than %2 members.', correctArray),

  // Actions
  ActionNotSupported: template(400, 'Critical', s1,
    'This resource does not support the action %1.', "Choose one of the actions in the resource's Actions."),
  ActionParameterUnknown: template(400, 'Warning', s2,
    'The action %1 has no parameter %2.', 'Leave the parameter out and send the request again.'),
  ActionParameterMissing: template(400, 'Critical', s2,
    'The action %1 needs the parameter %2, which was not sent.', 'Add the parameter and send the request again.'),
  ActionParameterValueTypeError: template(400, 'Warning', s3,
    "The value '%1' has the wrong type for the parameter %2 of the action %3.", correctValue),
  ActionParameterValueFormatError: template(400, 'Warning', s3,
    "The value '%1' has the wrong format for the parameter %2 of the action %3.", correctValue),
  ActionParameterValueNotInList: template(400, 'Warning', s3,
    "The value '%1' is not one that the parameter %2 of the action %3 accepts.", 'Choose one of the accepted values.'),
  ActionParameterValueOutOfRange: template(400, 'Warning', s3,
    "The value '%1' is outside the range of the parameter %2 of the action %3.", correctValue),
  ActionParameterValueError: template(400, 'Warning', s2,
    'The value of the parameter %1 of the action %2 is not valid.', correctValue),
  ActionParameterNotSupported: template(400, 'Warning', s2,
    'The parameter %1 of the action %2 is not supported here.', 'Leave the parameter out and send the request again.'),
  ActionParameterValueConflict: template(400, 'Warning', s2,
    "The parameter '%1' cannot be '%2' here.", 'Choose a value that this service accepts here.'),

  // Queries, headers, methods, preconditions
  QueryParameterUnsupported: template(501, 'Warning', s1,
    "The query parameter '%1' is not supported.", 'Send the request without it.'),
  QueryParameterValueTypeError: template(400, 'Warning', s2,
    "The value '%1' has the wrong type for the query parameter %2.", correctValue),
  QueryParameterValueError: template(400, 'Warning', s1,
    'The value of the query parameter %1 is not valid.', correctValue),
  QueryParameterOutOfRange: template(400, 'Warning', s3,
    "The value '%1' of the query parameter %2 is outside the range %3.", 'Choose a value within the range.'),
  QueryCombinationInvalid: template(400, 'Warning', [],
    'The query parameters of the request cannot be combined.', 'Leave one of them out and send the request again.'),
  QueryNotSupported: template(501, 'Warning', [], 'Queries are not supported.', 'Send the request without a query.'),
  QueryNotSupportedOnResource: template(400, 'Warning', [],
    'This resource does not support the query.', 'Send the request without a query.'),
  QueryNotSupportedOnOperation: template(400, 'Warning', [],
    'This method does not support the query.', 'Send the request without a query.'),
  QueryParameterValueFormatError: template(400, 'Warning', s2,
    "The value '%1' has the wrong format for the query parameter %2.", correctValue),
  HeaderInvalid: template(400, 'Critical', s1,
    "The service cannot accept the value of the header '%1'.", 'Correct the header and send the request again.'),
  HeaderMissing: template(400, 'Critical', s1,
    "The header '%1' is required and was not sent.", 'Add the header and send the request again.'),
  OperationNotAllowed: template(405, 'Critical', [],
    'This resource does not support this HTTP method.', 'Use one of the methods in the Allow header.'),
  PreconditionFailed: template(412, 'Critical', [],
    'The ETag of the resource does not meet the condition in If-Match or If-None-Match.',
    'Read the resource again and repeat the request with a condition that its ETag meets.'),
  PreconditionRequired: template(428, 'Critical', [],
    'The request needs an If-Match header.', 'Read the resource and send its ETag in If-Match.'),

  // Authentication and authorization
  AccessUnauthorized: template(401, 'Critical', [],
    'The request needs a valid user name and password.', 'Send the request with valid credentials.'),
  NoValidSession: template(401, 'Critical', [],
    'The request does not belong to a valid session.', 'Create a session, or send a user name and password.'),
  InsufficientPrivilege: template(403, 'Critical', [],
    'The account is not allowed to do this.',
    'Use an account with the necessary privilege, or change the role of this one.'),
  PasswordChangeRequired: template(403, 'Critical', s1,
    "The password must be changed before anything else: PATCH Password of the account at '%1'.",
    'Set a new password at the URI of the account.'),
  PasswordIncorrectLength: template(400, 'Critical', [],
    'The password is too short or too long for this service.', 'Choose a password of another length.'),
  PasswordComplexityNotMet: template(400, 'Critical', [],
    'The password does not meet the rules of this service.', 'Choose another password.'),
  SessionLimitExceeded: template(503, 'Critical', [],
    'There are as many sessions as the service allows.', 'End a session, or wait for one to time out.'),
  SessionTerminated: template(200, 'OK', [], 'The session has ended.', noAction),
  AccountModified: template(200, 'OK', [], 'The account was changed.', noAction),
  AccountNotModified: template(400, 'Warning', [],
    'The account was not changed.', 'Read the other messages for the reason.'),
  AccountRemoved: template(200, 'OK', [], 'The account was deleted.', noAction),
  AccountForSessionNoLongerExists: template(200, 'OK', [],
    'The session has ended because its account was deleted.', 'Log in with another account.'),
  RestrictedRole: template(403, 'Warning', s1,
    "The role '%1' cannot be assigned or removed in this way.", 'Choose another role.'),
  RestrictedPrivilege: template(403, 'Warning', s1,
    "The privilege '%1' cannot be assigned or removed in this way.", 'Choose other privileges.'),
  ServiceDisabled: template(503, 'Warning', s1,
    "The service at '%1' is disabled.", 'Set its ServiceEnabled to true and send the request again.'),

  // Resources
  ResourceMissingAtURI: template(404, 'Critical', s1,
    "There is no resource at the URI '%1'.",
    'Correct the URI. The service root at /redfish/v1 links to all resources.'),
  ResourceNotFound: template(404, 'Critical', s2,
    "There is no %1 named '%2'.", 'Read the collection for the names that exist.'),
  ResourceInUse: template(409, 'Warning', [],
    'The resource is in use, or its state does not allow this operation.',
    'Wait, or change the state of the resource; then send the request again.'),
  ResourceAlreadyExists: template(400, 'Critical', s3,
    "A %1 whose %2 is '%3' already exists.", 'Use another value, or work with the existing resource.'),
  ResourceCannotBeDeleted: template(405, 'Critical', [], 'This resource cannot be deleted.', noAction),
  ResourceExhaustion: template(503, 'Critical', s1,
    "The resource '%1' has no capacity for this request.", 'Send the request again later.'),
  ResourceCreationConflict: template(409, 'Warning', s1,
    "The resource was not created, because it conflicts with the resource at '%1'.",
    'Change or delete that resource, or create a different resource.'),
  CreateLimitReachedForResource: template(400, 'Critical', [],
    'There are as many of these resources as the service allows.', 'Delete one that is not needed anymore.'),
  EventSubscriptionLimitExceeded: template(503, 'Critical', [],
    'There are as many subscriptions as the service allows.', 'Delete one that is not needed anymore.'),
  SubscriptionTerminated: template(200, 'OK', [], 'The subscription has ended.', noAction),
  EventBufferExceeded: template(200, 'Warning', [],
    'The event buffer was full, so the service dropped events.', 'Read the missed events in the log service.'),
  ResetRequired: template(200, 'Warning', s2,
    "The change takes effect with a reset: POST ResetType '%2' to '%1'.", 'Reset the machine.'),
  ResourceAtUriInUnknownFormat: template(400, 'Critical', s1,
    "The service does not support the format of the resource at '%1'.",
    'Put a resource of a supported format there, or send another URI.'),
  ChassisPowerStateOnRequired: template(409, 'Warning', s1,
    "The machine '%1' must be on for this.", 'Power the machine on and send the request again.'),
  ChassisPowerStateOffRequired: template(409, 'Warning', s1,
    "The machine '%1' must be off for this.", 'Power the machine off and send the request again.'),

  // The host and other servers
  ServiceTemporarilyUnavailable: template(503, 'Critical', s1,
    'The service is temporarily unavailable. Retry in %1 seconds.',
    'Wait for the given time and send the request again.'),
  ServiceShuttingDown: template(503, 'Critical', [],
    'The service is shutting down and accepts no more requests.', 'Send the request again when the service is back.'),
  OperationFailed: template(502, 'Warning', [],
    'A backend that the request needs has failed.', 'Send the request again.'),
  OperationTimeout: template(503, 'Warning', [],
    'A backend that the request needs did not answer in time.',
    'Read the current state of the resource before you send the request again.'),
  CouldNotEstablishConnection: template(502, 'Critical', s1,
    "'%1' did not answer.", 'Check the URI, and that the host of this service can reach it.'),
  ResourceAtUriUnauthorized: template(400, 'Critical', s2,
    "The server of '%1' refused access: %2.", 'Send a user name and password that the server accepts.'),
  AccessDenied: template(400, 'Critical', s1,
    "The service could not open a trusted connection to '%1'.",
    'Check the certificate of the server, or the settings that verify it.'),
  SourceDoesNotSupportProtocol: template(400, 'Critical', s2,
    "'%1' cannot be fetched over the protocol %2.", 'Use a URI of a supported protocol.'),
  InsufficientStorage: template(507, 'Critical', [],
    'The host does not have enough free storage for this request.',
    'Free some storage on the host and send the request again.'),
} satisfies Readonly<Record<string, Template<readonly ArgumentType[]>>>;
