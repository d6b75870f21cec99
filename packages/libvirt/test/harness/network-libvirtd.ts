import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLibvirtd, untilListens, type LibvirtdOptions, type PrivateLibvirtd } from './libvirtd.js';
import { createAuthority, type Authority } from './pki.js';

/** A private libvirtd that also listens on TCP ports of loopback. */
export interface NetworkLibvirtd {
  readonly daemon: PrivateLibvirtd;
  readonly tlsPort: number;
  readonly tcpPort: number;
  readonly authority: Authority;
  /** Folder for the parameter `pkipath`. */
  readonly pkipath: string;
  stop(): Promise<void>;
}

/** Options of {@link startNetworkLibvirtd}. */
interface NetworkOptions extends LibvirtdOptions {
  /** Names in the certificate of the server. Default: `DNS:localhost` and `IP:127.0.0.1`. */
  readonly names?: readonly string[];
}

/** Starts a libvirtd with the TLS and TCP transports. They need no authentication, unless `libvirtdConf` sets it. */
export async function startNetworkLibvirtd(options: NetworkOptions): Promise<NetworkLibvirtd> {
  const dir = await mkdtemp(join(tmpdir(), 'rackless-pki-'));
  const removeFolder = (): Promise<void> => rm(dir, { recursive: true, force: true });
  try {
    return await startIn(dir, options, removeFolder);
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

async function startIn(
  dir: string,
  options: NetworkOptions,
  removeFolder: () => Promise<void>,
): Promise<NetworkLibvirtd> {
  const authority = await createAuthority(dir);
  const { cert, key } = await authority.server(options.names ?? ['DNS:localhost', 'IP:127.0.0.1']);
  const pkipath = await authority.clientFolder();
  const tlsPort = await freePort();
  const tcpPort = await freePort(tlsPort);
  const daemon = await startLibvirtd({
    ...options,
    args: ['--listen', ...(options.args ?? [])],
    libvirtdConf: [
      ...(options.libvirtdConf ?? []),
      'listen_tls = 1',
      'listen_tcp = 1',
      'listen_addr = "127.0.0.1"',
      `tls_port = "${tlsPort}"`,
      `tcp_port = "${tcpPort}"`,
      `cert_file = "${cert}"`,
      `key_file = "${key}"`,
      `ca_file = "${authority.ca}"`,
      // libvirtd uses the first of two settings with one name, so these are only defaults.
      'auth_tls = "none"',
      'auth_tcp = "none"',
    ],
  });
  try {
    // libvirtd opens its ports after its socket.
    await untilListens('the TLS port', tlsPort);
    await untilListens('the TCP port', tcpPort);
  } catch (error) {
    await daemon.stop();
    throw error;
  }
  return {
    daemon,
    tlsPort,
    tcpPort,
    authority,
    pkipath,
    stop: async () => {
      await daemon.stop();
      await removeFolder();
    },
  };
}

/**
 * Ports for libvirtd, which cannot choose them. They are below those that Linux gives to other sockets
 * (`net.ipv4.ip_local_port_range`), so that no other test gets one of them before libvirtd listens.
 */
const PORTS = { first: 30_000, end: 32_768 };

/** Returns a port that is free now, other than `taken`. */
async function freePort(taken?: number): Promise<number> {
  const port = randomInt(PORTS.first, PORTS.end);
  const server = createServer();
  const isFree = once(server, 'listening').then(
    () => port !== taken,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  const result = await isFree;
  server.close();
  return result ? port : freePort(taken);
}
