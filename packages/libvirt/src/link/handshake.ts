import type { CallOptions, Caller } from '../caller.js';
import { clientError } from '../errors.js';
import { authProcedures, AuthType } from '../protocol/auth.js';
import { connectProcedures } from '../protocol/connect.js';
import type { LibvirtUri } from '../uri.js';
import { authenticateWithSasl } from './sasl.js';

/** Numbers of optional libvirtd features. @see virDrvFeature */
const Feature = { programKeepalive: 10, remoteEventCallback: 14 } as const;

/** Options of {@link handshake}. */
interface HandshakeOptions extends CallOptions {
  readonly uri: LibvirtUri;
  /** True: libvirtd must support events. */
  readonly events: boolean;
  /**
   * True: libvirtd sends PINGs too. Must be false for a stream, because the client may pause
   * reading.
   */
  readonly serverPings: boolean;
}

/**
 * Makes the first calls of a connection: authenticates, enables keepalive and opens the hypervisor.
 * @throws {LibvirtError} AUTH_UNSUPPORTED; NOT_CONNECTED if `events` is true and libvirtd is too old
 *   for events, if the credentials are missing, or if libvirtd does not prove its identity; the
 *   errors of the calls.
 */
export async function handshake(connection: Caller, options: HandshakeOptions): Promise<void> {
  const { uri, events, serverPings, ...limits } = options;
  const { serverName } = uri;
  await authenticate(connection, uri, limits);
  // This query, before the open, makes libvirtd send PINGs. Every libvirtd since 2011 answers yes.
  if (serverPings) {
    await connection.call(connectProcedures.supportsFeature, { feature: Feature.programKeepalive }, limits);
  }
  await connection.call(connectProcedures.open, { name: serverName, flags: 0 }, limits);
  if (!events) return;
  const supported = await connection.call(
    connectProcedures.supportsFeature,
    { feature: Feature.remoteEventCallback },
    limits,
  );
  if (supported === 0) {
    throw clientError('NOT_CONNECTED', `opening ${serverName}: libvirtd is too old and has no event callbacks`);
  }
}

async function authenticate(connection: Caller, uri: LibvirtUri, limits: CallOptions): Promise<void> {
  const types = await connection.call(authProcedures.list, undefined, limits);
  if (types.length === 0 || types.includes(AuthType.NONE)) return;
  if (types.includes(AuthType.POLKIT)) {
    // polkit checks the process of this client, or that of ssh on the remote host. If it denies
    // access, libvirtd answers AUTH_FAILED or AUTH_UNAVAILABLE.
    await connection.call(authProcedures.polkit, undefined, limits);
    return;
  }
  if (types.includes(AuthType.SASL)) {
    await authenticateWithSasl(connection, uri, limits);
    return;
  }
  throw clientError(
    'AUTH_UNSUPPORTED',
    `opening ${uri.serverName}: libvirtd requires authentication of type ${types.join(', ')}`,
  );
}
