/**
 * Parses the credentials of HTTP Basic authentication.
 * @see RFC 7617
 */

/** A user name and a password. */
export interface BasicCredentials {
  readonly user: string;
  /** UTF-8 bytes without NUL; bytes, because bcrypt hashes bytes. */
  readonly password: Buffer;
}

const SCHEME = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i;
// oxlint-disable-next-line no-control-regex -- RFC 7617 §2: a user name has no control characters
const CONTROL = /[\x00-\x1f\x7f]/;

/**
 * Parses an Authorization header.
 * @returns undefined if it is missing, has another scheme, is not base64 of `user:password`, or if
 *   the user name has a control character or the password a NUL.
 */
export function readBasicCredentials(authorization: string | undefined): BasicCredentials | undefined {
  const encoded = authorization === undefined ? undefined : SCHEME.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = toUtf8(Buffer.from(encoded, 'base64'));
  // The first colon ends the user's name; a password may have more of them.
  const colon = bytes.indexOf(0x3a);
  if (colon === -1) return undefined;
  const user = bytes.toString('utf8', 0, colon);
  const password = bytes.subarray(colon + 1);
  // A password must not contain NUL. It may contain the other control characters.
  if (CONTROL.test(user) || password.includes(0)) return undefined;
  return { user, password };
}

/** Converts to UTF-8. python-requests, and with it sushy and Ironic, sends Latin-1. */
function toUtf8(bytes: Buffer): Buffer {
  // ASCII, the usual case, has the same bytes in Latin-1 and in UTF-8.
  if (bytes.every((byte) => byte < 0x80)) return bytes;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return bytes;
  } catch {
    // The decoder throws only if the bytes are not UTF-8.
    return Buffer.from(bytes.toString('latin1'), 'utf8');
  }
}
