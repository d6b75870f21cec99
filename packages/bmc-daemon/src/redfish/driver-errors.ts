/** What a client reads when a hypervisor or a download says no: the one place where {@link DriverError} becomes Redfish. */
import { maskUrl } from '@rackless/daemon/mask-url.js';
import { DriverError, type DriverErrorField } from '../drivers/driver.js';
import { RedfishError } from './errors.js';
import { isOutOfRoom, StorageError } from '../storage-error.js';
import { about, message, messageStatus, sentence, withDetail, type Message } from './messages.js';

/** What a driver's word for a part of a change is called in a body: `Boot/BootOrder`, from the body's root on. */
export type PropertyNames = Readonly<Partial<Record<DriverErrorField, string>>>;

/** The parts of an image, where a resource does not call them otherwise. */
const imageProperties: Readonly<Record<'image' | 'transferMethod', string>> = {
  image: 'Image',
  transferMethod: 'TransferMethod',
};

/** What was being done, so that the messages can name it. */
export interface ErrorContext {
  /** The action without its `#`: `VirtualMedia.InsertMedia`. Absent for GET, PATCH and DELETE. */
  readonly action?: string;
  /** The request's body, for the value that a message quotes. */
  readonly body?: unknown;
  /** The resource's own, beside those of an image. Default: none. */
  readonly properties?: PropertyNames | undefined;
  /** The URI that was asked for, for a machine that is gone. */
  readonly path: string;
}

/** How long a client should leave a host alone that does not answer: the driver has tried to reconnect a few times by then. */
const retryAfterSeconds = 5;

/**
 * Any error as the answer to the request: a {@link RedfishError} as it is, a {@link DriverError} as its message, a
 * {@link StorageError} as 507 InsufficientStorage or 500 OperationFailed with the name of the file, everything else
 * (and the kind `internal`) as 500 InternalError, whose cause is for the log and never shown.
 */
export function toRedfishError(error: unknown, context: ErrorContext): RedfishError {
  if (error instanceof RedfishError) return error;
  if (error instanceof StorageError) return notStored(error);
  if (!(error instanceof DriverError) || error.kind === 'internal') {
    return new RedfishError(500, [message('InternalError')], {}, error);
  }
  const answer = describe(error, context);
  // The driver's own sentence is written for clients; it says which host, image or device it was.
  const subject = withDetail(answer, `${error.message}.`);
  const headers = error.kind === 'unavailable' ? { 'Retry-After': String(retryAfterSeconds) } : {};
  return new RedfishError(status(error, answer), [subject], headers, error);
}

/** Names the file: a client that may change something may know where it is stored, and would not find the fault otherwise. */
function notStored(error: StorageError): RedfishError {
  const detail = sentence(error.message);
  if (isOutOfRoom(error)) return new RedfishError(507, [withDetail(message('InsufficientStorage'), detail)], {}, error);
  return new RedfishError(500, [withDetail(message('OperationFailed'), detail)], {}, error);
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
  const names = { ...imageProperties, ...context.properties };
  const property = error.field === undefined ? undefined : names[error.field];
  const ofImage = names.image;
  const image = quoted(context.body, ofImage);
  switch (error.kind) {
    case 'notFound':
      return message('ResourceMissingAtURI', context.path);
    case 'unavailable':
      return message('ServiceTemporarilyUnavailable', String(retryAfterSeconds));
    case 'conflict':
    case 'transient':
    case 'mediaInUse':
    case 'consoleInUse':
      return message('ResourceInUse');
    case 'unsupported':
      return unsupported(property, context);
    case 'invalid':
      return invalid(property, context);
    case 'mediaUnreachable':
      return aboutProperty(message('CouldNotEstablishConnection', image), ofImage);
    case 'mediaNotFound':
      return aboutProperty(message('ResourceMissingAtURI', image), ofImage);
    case 'mediaAuth':
      return aboutProperty(message('ResourceAtUriUnauthorized', image, 'user name or password not accepted'), ofImage);
    case 'mediaTls':
      return aboutProperty(message('AccessDenied', image), ofImage);
    case 'mediaForbidden':
      return invalid(ofImage, context);
    case 'mediaTooLarge':
      if (context.action === undefined) return invalid(ofImage, context);
      return aboutProperty(message('ActionParameterValueConflict', ofImage, image), ofImage);
    case 'insertFailed':
      return message('OperationFailed');
    case 'storageFull':
      return message('InsufficientStorage');
    case 'noPlace':
      return message('CreateLimitReachedForResource');
    case 'internal':
      return message('InternalError');
  }
}

function unsupported(property: string | undefined, { action, body }: ErrorContext): Message {
  if (action !== undefined) return message('ActionNotSupported', action);
  if (property === undefined) return message('GeneralError');
  return aboutProperty(message('PropertyValueExternalConflict', property, quoted(body, property)), property);
}

function invalid(property: string | undefined, { action, body }: ErrorContext): Message {
  if (property === undefined) return message('UnrecognizedRequestBody');
  if (action !== undefined) return aboutProperty(message('ActionParameterValueError', property, action), property);
  return aboutProperty(message('PropertyValueIncorrect', property, quoted(body, property)), property);
}

/** @param property as in {@link PropertyNames}. */
function aboutProperty(subject: Message, property: string): Message {
  return about(subject, `#/${property}`);
}

/** A value as a message may have it: tasks show messages to others, and what is in an image's URL may be a password or a key. */
function quoted(body: unknown, property: string): string {
  const value = valueAt(body, property) ?? '';
  return value.includes('://') ? maskUrl(value) : value;
}

function valueAt(body: unknown, property: string): string | undefined {
  let value = body;
  for (const name of property.split('/')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([key]) => key === name)?.[1] as unknown;
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
