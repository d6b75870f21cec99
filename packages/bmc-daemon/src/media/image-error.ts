/**
 * Kinds of image errors. All except `aborted` are also kinds of DriverError, which describes them.
 * `aborted`: the signal of the caller is aborted.
 */
type ImageErrorKind =
  | 'mediaForbidden'
  | 'mediaUnreachable'
  | 'mediaNotFound'
  | 'mediaAuth'
  | 'mediaTls'
  | 'mediaTooLarge'
  | 'storageFull'
  | 'aborted';

/**
 * An image could not be downloaded or stored. Clients see the message: it names the server, and has
 * no secrets.
 */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly kind: ImageErrorKind;

  constructor(kind: ImageErrorKind, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
  }
}
