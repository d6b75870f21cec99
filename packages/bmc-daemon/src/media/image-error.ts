/** Why an image could not be had; the names are those of the driver's errors, which these become. */
export type ImageErrorKind =
  | 'mediaForbidden'
  | 'mediaUnreachable'
  | 'mediaNotFound'
  | 'mediaAuth'
  | 'mediaTls'
  | 'mediaTooLarge'
  | 'storageFull'
  | 'aborted';

/** An image that could not be downloaded or kept. The message is for clients: it names the server, never a secret. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly kind: ImageErrorKind;

  constructor(kind: ImageErrorKind, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
  }
}
