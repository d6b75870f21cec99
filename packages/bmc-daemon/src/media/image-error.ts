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

/** `code` of a Node or OpenSSL error, `ECONNREFUSED`; undefined where there is none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
