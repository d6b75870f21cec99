/**
 * Translates errors of drivers, of files of the service and of the shared store into Redfish errors. No other
 * module translates a {@link DriverError}.
 */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { DriverError, type DriverErrorField, type DriverErrorKind } from '../../drivers/driver-error.js';
import { RedfishError } from './errors.js';
import { hypervisorText } from './hypervisor-text.js';
import { ChangeRefused, StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { isStorageFull, StorageError } from '../../storage-error.js';
import { withPointers, message, messageStatus, sentence, withDetail, type Message } from './messages.js';

/**
 * Maps the driver's field names to the property names of a resource. A property name is a path from
 * the root of the body: `Boot/BootOrder`.
 */
export type PropertyNames = Readonly<Partial<Record<DriverErrorField, string>>>;

/** Property names of most resources. */
const usualProperties: Readonly<Record<'assetTag' | 'image' | 'transferMethod', string>> = {
  assetTag: 'AssetTag',
  image: 'Image',
  transferMethod: 'TransferMethod',
};

/** The request that failed, for the texts of the messages. */
export interface ErrorContext {
  /** The action without its `#`: `VirtualMedia.InsertMedia`. Absent if the request is not an action. */
  readonly action?: string;
  /** The request's body, for the value that a message quotes. */
  readonly body?: unknown;
  /** Names in addition to {@link usualProperties}. Default: none. */
  readonly properties?: PropertyNames | undefined;
  /** The requested URI, for a machine that no longer exists. */
  readonly path: string;
}

/**
 * Time after which a client may retry if the host, a console or the shared store did not answer. The
 * driver tries to reconnect a few times in these seconds.
 */
const retryAfterSeconds = 5;

/**
 * Translates any error into the answer:
 * - a {@link RedfishError}: unchanged.
 * - a {@link DriverError}: the message for its kind.
 * - a {@link StorageError}: 507 InsufficientStorage or 500 OperationFailed, with the name of the
 *   file.
 * - a {@link StoreUnavailable}: 503 ServiceTemporarilyUnavailable.
 * - everything else, and the kind `internal` (a bug of the daemon): 500 InternalError; only the log
 *   has the cause.
 */
export function toRedfishError(error: unknown, context: ErrorContext): RedfishError {
  if (error instanceof RedfishError) return error;
  if (error instanceof StorageError) return storageError(error);
  if (error instanceof StoreUnavailable) return storeUnavailable(error);
  if (!(error instanceof DriverError) || error.kind === 'internal') {
    return new RedfishError(500, [message('InternalError')], {}, error);
  }
  const fault = messageOf(error, context);
  const detailed = withDetail(fault, sentence(textForClients(error)));
  const headers = error.kind === 'unavailable' ? { 'Retry-After': String(retryAfterSeconds) } : {};
  return new RedfishError(statusOf(error, fault), [detailed], headers, error);
}

/**
 * Returns the error for a request that needs the shared store of the replicas. The reason of a
 * refused change is for clients, other reasons are for the log only.
 */
function storeUnavailable(error: StoreUnavailable): RedfishError {
  const busy = message('ServiceTemporarilyUnavailable', String(retryAfterSeconds));
  const refused = error instanceof ChangeRefused;
  const fault = withDetail(
    busy,
    refused ? sentence(error.message) : 'The shared store of the service does not answer.',
  );
  return new RedfishError(503, [fault], { 'Retry-After': String(retryAfterSeconds) }, error);
}

/**
 * Returns the error for a file that could not be written or read. The message contains the name of the
 * file, because the operator needs the name to find the fault.
 */
function storageError(error: StorageError): RedfishError {
  const detail = sentence(error.message);
  if (isStorageFull(error))
    return new RedfishError(507, [withDetail(message('InsufficientStorage'), detail)], {}, error);
  return new RedfishError(500, [withDetail(message('OperationFailed'), detail)], {}, error);
}

/** Kinds of errors whose text may contain a text of the hypervisor, with paths of the host. */
const withHypervisorText: ReadonlySet<DriverErrorKind> = new Set(['failed', 'insertFailed', 'conflict', 'storageFull']);

/** Returns the text of an error for clients: a text of the hypervisor without paths, any other text unchanged. */
const textForClients = ({ kind, message: text }: DriverError): string =>
  withHypervisorText.has(kind) ? hypervisorText(text) : text;

function statusOf(error: DriverError, fault: Message): number {
  // GeneralError has status 500, but a machine that lacks a feature is not a failure of the
  // service.
  if (fault.key === 'GeneralError') return 501;
  // 404 would mean that the drive does not exist; the missing resource is the image.
  if (error.kind === 'mediaNotFound') return 400;
  // The usual 502 makes many clients retry, but a repeated request would fail in the same way.
  if (error.kind === 'failed') return 500;
  return messageStatus(fault);
}

function messageOf(error: DriverError, context: ErrorContext): Message {
  const names = { ...usualProperties, ...context.properties };
  const property = error.field === undefined ? undefined : names[error.field];
  const imageProperty = names.image;
  const image = maskedValue(context.body, imageProperty);
  switch (error.kind) {
    case 'notFound':
      return message('ResourceMissingAtURI', context.path);
    case 'unavailable':
    case 'consoleNotReady':
    case 'consoleUnreachable':
      return message('ServiceTemporarilyUnavailable', String(retryAfterSeconds));
    case 'conflict':
    case 'transient':
    case 'mediaInUse':
    case 'consoleInUse':
    case 'insertFailed':
      // A 502 would be wrong for `insertFailed`: many clients retry it, and their power-on would boot an empty drive.
      return message('ResourceInUse');
    case 'unsupported':
      return unsupportedMessage(property, context);
    case 'invalid':
      return invalidMessage(property, context);
    case 'mediaUnreachable':
      return withPropertyPointer(message('CouldNotEstablishConnection', image), imageProperty);
    case 'mediaNotFound':
      return withPropertyPointer(message('ResourceMissingAtURI', image), imageProperty);
    case 'mediaAuth':
      return withPropertyPointer(
        message('ResourceAtUriUnauthorized', image, 'user name or password not accepted'),
        imageProperty,
      );
    case 'mediaTls':
      return withPropertyPointer(message('AccessDenied', image), imageProperty);
    case 'mediaForbidden':
      return invalidMessage(imageProperty, context);
    case 'mediaTooLarge':
      if (context.action === undefined) return invalidMessage(imageProperty, context);
      return withPropertyPointer(message('ActionParameterValueConflict', imageProperty, image), imageProperty);
    case 'failed':
      return message('OperationFailed');
    case 'storageFull':
      return message('InsufficientStorage');
    case 'noPlace':
      return message('CreateLimitReachedForResource');
    case 'internal':
      return message('InternalError');
  }
}

function unsupportedMessage(property: string | undefined, { action, body }: ErrorContext): Message {
  if (action !== undefined) return message('ActionNotSupported', action);
  if (property === undefined) return message('GeneralError');
  return withPropertyPointer(message('PropertyValueExternalConflict', property, maskedValue(body, property)), property);
}

function invalidMessage(property: string | undefined, { action, body }: ErrorContext): Message {
  if (property === undefined) return message('UnrecognizedRequestBody');
  if (action !== undefined)
    return withPropertyPointer(message('ActionParameterValueError', property, action), property);
  return withPropertyPointer(message('PropertyValueIncorrect', property, maskedValue(body, property)), property);
}

/** @param property a path as in {@link PropertyNames}. */
function withPropertyPointer(subject: Message, property: string): Message {
  return withPointers(subject, `#/${property}`);
}

/**
 * Returns a value of the body for a message; an empty text if the body has no such value. Removes the
 * secrets of a URL, because other users can read the messages of tasks.
 */
function maskedValue(body: unknown, property: string): string {
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
