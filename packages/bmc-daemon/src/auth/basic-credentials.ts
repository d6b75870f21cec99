/** User and password of HTTP Basic authentication. @see RFC 7617 */

export interface BasicCredentials {
  readonly user: string;
  /** UTF-8, without a NUL. Bytes, because that is what bcrypt hashes. */
  readonly password: Buffer;
}

const SCHEME = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i;
// oxlint-disable-next-line no-control-regex -- RFC 7617 §2: neither part has control characters
const CONTROL = /[\x00-\x1f\x7f]/;

/**
 * Reads an Authorization header.
 * @returns undefined where there is none, where it is of another scheme, or where it is not `user:password` in base64.
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
  if (CONTROL.test(user) || password.includes(0)) return undefined;
  return { user, password };
}

/** python-requests, and with it sushy and Ironic, sends Latin-1 where everybody else sends UTF-8. */
function toUtf8(bytes: Buffer): Buffer {
  // ASCII is both, and the usual case.
  if (bytes.every((byte) => byte < 0x80)) return bytes;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return bytes;
  } catch {
    // The bytes are no UTF-8: the decoder has no other reason to throw.
    return Buffer.from(bytes.toString('latin1'), 'utf8');
  }
}
