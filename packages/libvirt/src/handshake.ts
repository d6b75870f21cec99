import type { CallOptions, Caller } from './caller.js';
import { clientError } from './errors.js';
import { authProcedures, AuthType } from './protocol/auth.js';
import { connectProcedures } from './protocol/connect.js';

/** Features that libvirtd is asked for by number. @see virDrvFeature */
const Feature = { programKeepalive: 10, remoteEventCallback: 14 } as const;

/** What to open, and how. */
export interface HandshakeOptions extends CallOptions {
  /** The URI that libvirtd opens, e.g. `qemu:///system`. */
  readonly serverName: string;
  /** The connection is to carry events. */
  readonly events: boolean;
  /** libvirtd may send PINGs of its own; it must not where reading can pause, as on a stream. */
  readonly serverPings: boolean;
}

/**
 * The calls that come before all others: authenticate, ask for keepalive, open the hypervisor.
 * @throws {LibvirtError} AUTH_UNSUPPORTED, NOT_CONNECTED (libvirtd is too old), or what libvirtd answered.
 */
export async function handshake(connection: Caller, options: HandshakeOptions): Promise<void> {
  const { serverName, events, serverPings, ...limits } = options;
  await authenticate(connection, serverName, limits);
  // The answer is of no interest (every daemon since 2011 says yes), but asking before the open is what makes libvirtd ping.
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
    throw clientError('NOT_CONNECTED', `opening ${serverName}: libvirtd is too old, it has no event callbacks`);
  }
}

async function authenticate(connection: Caller, serverName: string, limits: CallOptions): Promise<void> {
  const kinds = await connection.call(authProcedures.list, undefined, limits);
  if (kinds.length === 0 || kinds.includes(AuthType.NONE)) return;
  if (!kinds.includes(AuthType.POLKIT)) {
    throw clientError(
      'AUTH_UNSUPPORTED',
      `opening ${serverName}: libvirtd wants authentication of kind ${kinds.join(', ')}`,
    );
  }
  // polkit asks about the process at the other end of the socket; a denial is an AUTH_FAILED or AUTH_UNAVAILABLE of libvirtd.
  await connection.call(authProcedures.polkit, undefined, limits);
}
