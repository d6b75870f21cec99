/** What a client reads when a hypervisor or a download says no: the one place where {@link DriverError} becomes Redfish. */
import { maskUrl } from '@rackless/daemon/mask-url.js';
import { DriverError } from '../drivers/driver.js';
import { RedfishError } from './errors.js';
import { about, message, messageStatus, withDetail, type Message } from './messages.js';

/** What was being done, so that the messages can name it. */
export interface ErrorContext {
  /** The action without its `#`: `VirtualMedia.InsertMedia`. Absent for GET, PATCH and DELETE. */
  readonly action?: string;
  /** The request's body, for the value that a message quotes. */
  readonly body?: unknown;
  /** The URI that was asked for, for a machine that is gone. */
  readonly path: string;
}

/** How long a client should leave a host alone that does not answer: the driver has tried to reconnect a few times by then. */
const retryAfterSeconds = 5;

/**
 * Any error as the answer to the request: a {@link RedfishError} as it is, a {@link DriverError} as its message, everything else
 * (and the kind `internal`) as 500 InternalError, whose cause is for the log and never shown.
 */
export function toRedfishError(error: unknown, context: ErrorContext): RedfishError {
  if (error instanceof RedfishError) return error;
  if (!(error instanceof DriverError) || error.kind === 'internal') {
    return new RedfishError(500, [message('InternalError')], {}, error);
  }
  const answer = describe(error, context);
  // The driver's own sentence is written for clients; it says which host, image or device it was.
  const subject = withDetail(answer, `${error.message}.`);
  const headers = error.kind === 'unavailable' ? { 'Retry-After': String(retryAfterSeconds) } : {};
  return new RedfishError(status(error, answer), [subject], headers, error);
}

function status(error: DriverError, answer: Message): number {
  // GeneralError's own status is 500, but "this machine can not do that" is no failure of the service.
  if (answer.key === 'GeneralError') return 501;
  // 404 would say that the drive is not there; it is the image.
  if (error.kind === 'mediaNotFound') return 400;
  // 502 is repeated by many clients on their own account, and the repeated power-on would boot the empty drive.
  if (error.kind === 'insertFailed') return 409;
  return messageStatus(answer);
}

function describe(error: DriverError, context: ErrorContext): Message {
  const image = maskUrl(valueAt(context.body, 'Image') ?? '');
  switch (error.kind) {
    case 'notFound':
      return message('ResourceMissingAtURI', context.path);
    case 'unavailable':
      return message('ServiceTemporarilyUnavailable', String(retryAfterSeconds));
    case 'conflict':
    case 'transient':
    case 'mediaInUse':
      return message('ResourceInUse');
    case 'unsupported':
      return unsupported(error.field, context);
    case 'invalid':
      return invalid(error.field, context);
    case 'mediaUnreachable':
      return aboutField(message('CouldNotEstablishConnection', image), 'Image');
    case 'mediaNotFound':
      return aboutField(message('ResourceMissingAtURI', image), 'Image');
    case 'mediaAuth':
      return aboutField(message('ResourceAtUriUnauthorized', image, 'user name or password not accepted'), 'Image');
    case 'mediaTls':
      return aboutField(message('AccessDenied', image), 'Image');
    case 'mediaForbidden':
      return invalid('Image', context);
    case 'mediaTooLarge':
      return aboutField(message('ActionParameterValueConflict', 'Image', image), 'Image');
    case 'insertFailed':
      return message('OperationFailed');
    case 'storageFull':
      return message('InsufficientStorage');
    case 'internal':
      return message('InternalError');
  }
}

function unsupported(field: string | undefined, { action, body }: ErrorContext): Message {
  if (action !== undefined) return message('ActionNotSupported', action);
  if (field === undefined) return message('GeneralError');
  return aboutField(message('PropertyValueExternalConflict', field, valueAt(body, field) ?? ''), field);
}

function invalid(field: string | undefined, { action, body }: ErrorContext): Message {
  if (field === undefined) return message('UnrecognizedRequestBody');
  if (action !== undefined) return aboutField(message('ActionParameterValueError', field, action), field);
  return aboutField(message('PropertyValueIncorrect', field, valueAt(body, field) ?? ''), field);
}

/** `Boot/BootSourceOverrideTarget` and `Boot.BootSourceOverrideTarget` both name a place in the body. */
function aboutField(subject: Message, field: string): Message {
  return about(subject, `#/${field.replaceAll('.', '/')}`);
}

function valueAt(body: unknown, field: string): string | undefined {
  let value = body;
  for (const name of field.split(/[./]/)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([key]) => key === name)?.[1] as unknown;
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
