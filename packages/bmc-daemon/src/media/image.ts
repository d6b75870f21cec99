/** What a client asks for when it inserts an image. */
export interface ImageRequest {
  /** `http://…` or `https://…`, without credentials. */
  readonly url: URL;
  readonly userName?: string;
  readonly password?: string;
  readonly writeProtected: boolean;
  /** Verify the image server's certificate. */
  readonly verifyCertificate: boolean;
  /** PEM certificates that are trusted for this image beside all others. */
  readonly authorities?: readonly string[];
  /** Read by the hypervisor, block by block, in place of being kept on the host. */
  readonly stream?: boolean;
}

/**
 * The address as the machine's metadata keeps it: without user name, password and fragment. The query stays, for a client
 * that inserts the same address again has to be recognised.
 */
export function storedUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}${url.search}`;
}

/** What XML can not hold, and what no name has. */
const NOT_IN_NAMES = /[\p{Cc}\u{fffe}\u{ffff}]/u;

/** `image.iso` of `https://host/path/image.iso?token=…`; the host's name where the path ends in a slash. */
export function imageName(url: URL): string {
  const segment = url.pathname.split('/').findLast((part) => part !== '');
  if (segment === undefined) return url.hostname;
  try {
    const name = decodeURIComponent(segment);
    return NOT_IN_NAMES.test(name) ? segment : name;
  } catch {
    // A stray `%` is legal in what a server accepts; the name is for people, so the raw one will do.
    return segment;
  }
}
