/** Errors of drivers. Only redfish/messages/driver-errors.ts translates them to an HTTP status. */
import type { SettingsChange } from './snapshot/firmware-snapshot.js';

/** Kinds of driver errors, with the usual HTTP status of some. */
export type DriverErrorKind =
  /** No such machine, host or disk. Or several machines have the name. */
  | 'notFound'
  /** The host does not answer, so the effect of the call may be unknown: 503 with Retry-After. */
  | 'unavailable'
  /** The machine's state does not allow it: 409. */
  | 'conflict'
  /** The operation would stop a transient machine, and libvirt would then remove the machine: 409. */
  | 'transient'
  /** The hypervisor or the machine does not support the operation. */
  | 'unsupported'
  /** The hypervisor rejects a value. `field` names it. */
  | 'invalid'
  /** An image is already in the drive. */
  | 'mediaInUse'
  /** Another client is connected to the machine's serial port. */
  | 'consoleInUse'
  /** The machine is starting or stopping, and has no serial port at this moment. */
  | 'consoleNotReady'
  /** The proxy of the machine's serial console does not answer. */
  | 'consoleUnreachable'
  /**
   * The image server does not answer, or its answer is not usable: an error status, too many
   * redirects, a compressed body, or no support of ranges.
   */
  | 'mediaUnreachable'
  /** The image server answers 404. */
  | 'mediaNotFound'
  /** The image server rejects the credentials. */
  | 'mediaAuth'
  /** The TLS connection to the image server fails. */
  | 'mediaTls'
  /** The image is larger than allowed. */
  | 'mediaTooLarge'
  /** An eject cancelled the insert. Or a power-on waited for an insert, and the insert failed. */
  | 'insertFailed'
  /** The configuration does not allow images from that host or address. */
  | 'mediaForbidden'
  /** The host has no space for the image. */
  | 'storageFull'
  /** The machine has no free place for a drive. */
  | 'noPlace'
  /** The hypervisor failed, for a reason that it gives: 500 with this reason. */
  | 'failed'
  /** A bug of the daemon: 500, logged with its cause. */
  | 'internal';

/**
 * The rejected part of a change: a setting by its name, the asset tag, or a part of boot settings or of an image.
 */
export type DriverErrorField =
  Exclude<keyof SettingsChange, 'kept'> | 'bootTarget' | 'bootOrder' | 'assetTag' | 'image' | 'transferMethod';

/** An error of a driver. Resources map `field` to the property of the request. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  readonly kind: DriverErrorKind;
  /** The rejected part; absent if the error concerns several parts or none. */
  readonly field: DriverErrorField | undefined;

  /** @param message "doing x on y: why" in lower case. Clients see it, so it has no secrets. */
  constructor(kind: DriverErrorKind, message: string, options: { field?: DriverErrorField; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.field = options.field;
  }
}

/** Returns whether an error is a {@link DriverError} of one of the kinds. */
export function isDriverError(error: unknown, ...kinds: readonly DriverErrorKind[]): error is DriverError {
  return error instanceof DriverError && kinds.includes(error.kind);
}
