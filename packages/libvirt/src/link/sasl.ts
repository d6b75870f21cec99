/** SASL with libvirtd: SCRAM-SHA-256, and PLAIN over verified TLS. */
import type { CallOptions, Caller } from '../caller.js';
import { clientError, isLibvirtError, toError } from '../errors.js';
import { authProcedures, saslData, type SaslReply } from '../protocol/auth.js';
import type { LibvirtUri } from '../uri.js';
import { readCredentials, type Credentials } from './auth-config.js';
import { ScramExchange } from './scram.js';

/** Mechanisms of this client, the best first. */
const mechanisms = ['SCRAM-SHA-256', 'PLAIN'] as const;

/**
 * Authenticates the user of libvirt's auth.conf.
 * @throws {LibvirtError} AUTH_UNSUPPORTED: libvirtd offers no mechanism that is safe on this
 *   transport; NOT_CONNECTED: the credentials cannot be read, libvirtd cannot prove its identity, or its
 *   messages are wrong; the error of libvirtd, AUTH_FAILED for a wrong password.
 */
export async function authenticateWithSasl(connection: Caller, uri: LibvirtUri, limits: CallOptions): Promise<void> {
  // As in libvirt's own client: an unencrypted connection needs a mechanism that encrypts, and
  // neither of our two mechanisms does. libvirtd then offers none, without a reason.
  if (uri.transport === 'tcp') {
    throw unsupported(uri, 'libvirtd wants a password, which is not safe over tcp; use the transport tls or ssh');
  }
  const offered = (await connection.call(authProcedures.saslInit, undefined, limits)).split(/[,\s]+/);
  const mechanism = select(offered, uri);
  try {
    const credentials = await readCredentials(uri);
    if (mechanism === 'PLAIN') await plain(connection, credentials, limits);
    else await scram(connection, credentials, limits);
  } catch (cause) {
    if (isLibvirtError(cause)) throw cause;
    throw clientError('NOT_CONNECTED', `authenticating at ${uri.text}: ${toError(cause).message}`, { cause });
  }
}

function select(offered: readonly string[], uri: LibvirtUri): (typeof mechanisms)[number] {
  const isVerified = uri.transport === 'tls' && !uri.parameters.noVerify;
  const found = mechanisms.find((each) => offered.includes(each) && (each !== 'PLAIN' || isVerified));
  if (found !== undefined) return found;
  throw unsupported(
    uri,
    `this client has SCRAM-SHA-256, and PLAIN over TLS with verification; libvirtd offers ${offered.join(', ')}`,
  );
}

function unsupported(uri: LibvirtUri, why: string): Error {
  return clientError('AUTH_UNSUPPORTED', `authenticating at ${uri.text}: ${why}`);
}

async function plain(connection: Caller, { authname, password }: Credentials, limits: CallOptions): Promise<void> {
  const reply = await start(connection, 'PLAIN', `\0${authname}\0${password}`, limits);
  if (reply.complete === 0) throw new Error('PLAIN: libvirtd wants a second message');
}

async function scram(connection: Caller, credentials: Credentials, limits: CallOptions): Promise<void> {
  const exchange = new ScramExchange(credentials);
  const first = await start(connection, 'SCRAM-SHA-256', exchange.first(), limits);
  if (first.complete !== 0) throw new Error('SCRAM-SHA-256: libvirtd accepts the client without a proof');
  const proof = await exchange.answer(textOf(first));
  const second = await connection.call(authProcedures.saslStep, saslData(proof), limits);
  // The reply contains the proof of the server. If the reply does not end the exchange, one empty message follows.
  exchange.verify(textOf(second));
  if (second.complete !== 0) return;
  const last = await connection.call(authProcedures.saslStep, saslData(''), limits);
  if (last.complete === 0) throw new Error('SCRAM-SHA-256: libvirtd does not end the exchange');
}

async function start(connection: Caller, mech: string, text: string, limits: CallOptions): Promise<SaslReply> {
  return await connection.call(authProcedures.saslStart, { mech, ...saslData(text) }, limits);
}

const textOf = ({ data }: SaslReply): string => Buffer.from(data).toString('utf8');
