/** A request for an image, and the name of an image. */
import type { ImageUpload } from './image-upload.js';

/** A request for an image. */
export interface ImageRequest {
  /** `http://…` or `https://…`, without credentials. For an upload, the URL of `upload`. */
  readonly url: URL;
  /** The image that a client sends; absent for an image of a server. */
  readonly upload?: ImageUpload;
  readonly userName?: string;
  readonly password?: string;
  readonly writeProtected: boolean;
  /** Whether to verify the certificate of the image server. */
  readonly verifyCertificate: boolean;
  /** PEM certificates that are trusted for this image, in addition to all others. */
  readonly authorities?: readonly string[];
  /** Whether the hypervisor reads the image in blocks, instead of a download to the host. */
  readonly stream?: boolean;
}

/**
 * Returns the URL for a machine's metadata: without user name, password and fragment. The query
 * is not removed, so that a repeated insert of the same URL is recognized.
 */
export function storedUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}${url.search}`;
}

/** Characters that XML does not allow, and that names do not have. */
const NOT_IN_NAMES = /[\p{Cc}\u{fffe}\u{ffff}]/u;

/**
 * Returns the name of an image: `image.iso` for `https://host/path/image.iso?token=…`; the host if
 * the path is empty. Escapes (`%20`) are decoded, unless that is impossible or gives a character that
 * {@link NOT_IN_NAMES} excludes.
 */
export function imageName(url: URL): string {
  const segment = url.pathname.split('/').findLast((part) => part !== '');
  if (segment === undefined) return url.hostname;
  try {
    const name = decodeURIComponent(segment);
    return NOT_IN_NAMES.test(name) ? segment : name;
  } catch {
    // A server may accept an invalid `%` escape. The name is for users, so the raw text suffices.
    return segment;
  }
}
