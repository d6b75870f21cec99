/**
 * Logs in to a VNC server: without a password, with a password, and inside of TLS (VeNCrypt).
 * @see RFC 6143 §7.1 and §7.2; the VeNCrypt extension of the RFB protocol
 */
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { RfbError } from './rfb-error.js';
import { answerChallenge } from './vnc-password.js';

/** The secrets and names for a login. */
export interface ServerLogin {
  readonly password: string | null;
  /** The name that a certificate must have; null: certificates are not verified. */
  readonly remoteHost: string | null;
}

/** The version that this service speaks with servers and clients. */
export const rfbVersion = Buffer.from('RFB 003.008\n');

/** Security types. */
const NONE = 1;
const PASSWORD = 2;
const VENCRYPT = 19;
/** Types of VeNCrypt, with the login inside of TLS. Certificates come before anonymous keys. */
const encrypted = [
  { type: 260, hasCertificate: true, inner: NONE },
  { type: 261, hasCertificate: true, inner: PASSWORD },
  { type: 257, hasCertificate: false, inner: NONE },
  { type: 258, hasCertificate: false, inner: PASSWORD },
] as const;

/** Maximum length of a server's reason, in bytes. */
const MAX_REASON_BYTES = 1000;

/**
 * Logs in. The next message is the client's ClientInit.
 * @param stream a new connection. The caller destroys it, and limits the time.
 * @returns the stream for all further bytes: `stream` itself, or a TLS connection over it.
 * @throws {RfbError} if the server speaks no VNC or an old version, rejects the login, or needs a login that is not
 *   supported. Also if TLS fails or the connection ends.
 */
export async function logIn(stream: Duplex, login: ServerLogin): Promise<Duplex> {
  const version = (await read(stream, rfbVersion.length)).toString('latin1');
  if (!/^RFB \d{3}\.\d{3}\n$/.test(version)) throw new RfbError('The display does not speak VNC.');
  if (version < rfbVersion.toString()) throw new RfbError('The VNC server of the display is too old.');
  stream.write(rfbVersion);
  const [count = 0] = await read(stream, 1);
  if (count === 0) throw await rejectionError(stream);
  const types = new Set(await read(stream, count));
  if (types.has(NONE)) return await logInPlainly(stream, NONE, login);
  if (types.has(PASSWORD) && login.password !== null) return await logInPlainly(stream, PASSWORD, login);
  if (types.has(VENCRYPT)) return await logInEncrypted(stream, login);
  if (types.has(PASSWORD)) throw new RfbError('The display needs a password, and libvirt does not have it.');
  throw new RfbError('The display needs a login of another kind, such as SASL.');
}

async function logInPlainly(stream: Duplex, type: number, login: ServerLogin): Promise<Duplex> {
  stream.write(Buffer.from([type]));
  await finish(stream, type, login);
  return stream;
}

async function logInEncrypted(stream: Duplex, login: ServerLogin): Promise<Duplex> {
  stream.write(Buffer.from([VENCRYPT]));
  // Ignores the server's version of VeNCrypt, and requests version 0.2.
  await read(stream, 2);
  stream.write(Buffer.from([0, 2]));
  const [isRejected] = await read(stream, 1);
  if (isRejected !== 0) throw new RfbError('The display uses another version of TLS for VNC.');
  const [count = 0] = await read(stream, 1);
  const list = await read(stream, count * 4);
  const offered = new Set(Array.from({ length: count }, (_none, index) => list.readUInt32BE(index * 4)));
  const chosen = encrypted.find(({ type, inner }) => offered.has(type) && (inner === NONE || login.password !== null));
  if (chosen === undefined) throw new RfbError('The display needs a login of another kind inside of TLS.');
  const choice = Buffer.alloc(4);
  choice.writeUInt32BE(chosen.type);
  stream.write(choice);
  const [isAccepted] = await read(stream, 1);
  if (isAccepted !== 1) throw new RfbError('The display rejected TLS.');
  const secure = await encrypt(stream, tlsOptions(chosen.hasCertificate, login));
  await finish(secure, chosen.inner, login);
  return secure;
}

function tlsOptions(hasCertificate: boolean, { remoteHost }: ServerLogin): ConnectionOptions {
  // QEMU's anonymous keys exist only in TLS 1.2. OpenSSL disables them by default.
  if (!hasCertificate) return { ciphers: 'aNULL:@SECLEVEL=0', maxVersion: 'TLSv1.2', rejectUnauthorized: false };
  // Without a remote host, the bytes do not leave this host, or only inside of ssh. So the certificate is not verified.
  return remoteHost === null ? { rejectUnauthorized: false } : { host: remoteHost };
}

function encrypt(stream: Duplex, options: ConnectionOptions): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({ ...options, socket: stream }, () => {
      secure.removeListener('error', fail);
      resolve(secure);
    });
    const fail = (cause: Error): void =>
      reject(new RfbError(`TLS to the display failed: ${cause.message}.`, { cause }));
    secure.once('error', fail);
  });
}

/** Sends the password, if the type needs it, and reads the result. @throws {RfbError} */
async function finish(stream: Duplex, type: number, { password }: ServerLogin): Promise<void> {
  if (type === PASSWORD) stream.write(answerChallenge(await read(stream, 16), password ?? ''));
  const result = await read(stream, 4);
  if (result.readUInt32BE() !== 0) throw await rejectionError(stream);
}

async function rejectionError(stream: Duplex): Promise<RfbError> {
  const length = (await read(stream, 4)).readUInt32BE();
  const reason = (await read(stream, Math.min(length, MAX_REASON_BYTES))).toString();
  return new RfbError(`The display rejected the login: ${reason.replaceAll(/\p{Cc}+/gu, ' ')}.`);
}

/** Reads a number of bytes. @throws {RfbError} if the stream has fewer bytes. */
function read(stream: Duplex, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      stream.removeListener('readable', tryRead);
      for (const event of ['close', 'error', 'end']) stream.removeListener(event, fail);
    };
    const tryRead = (): void => {
      const bytes = length === 0 ? Buffer.alloc(0) : (stream.read(length) as Buffer | null); // The stream has no encoding.
      // At its end, a stream returns fewer bytes. Then `fail` rejects.
      if (bytes === null || bytes.length < length) return;
      settle();
      resolve(bytes);
    };
    const fail = (): void => {
      settle();
      reject(new RfbError('The display closed the connection during the login.'));
    };
    stream.on('readable', tryRead).once('close', fail).once('error', fail).once('end', fail);
    tryRead();
  });
}
