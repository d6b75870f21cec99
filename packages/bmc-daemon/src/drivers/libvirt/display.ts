/** Finds the VNC servers of libvirt's machines, and connects to them. */
import { connect, isIP, isIPv6, type NetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { DomainXmlFlags, openSshTunnel, parseUri, type LibvirtUri } from '@rackless/libvirt';
import { DriverError } from '../driver-error.js';
import type { DisplayAccess, DisplayControl } from '../display-control.js';
import { attempt } from './failure.js';
import type { Host } from './machine/host.js';
import type { Machine } from './machine/inventory.js';
import { readInstanceId } from './xml/domain.js';
import { readVncDisplay, type VncDisplay } from './xml/devices/vnc-display.js';
import { parseXml } from './xml/parse.js';
import { child } from './xml/tree.js';

/** Dependencies of {@link LibvirtDisplay}. */
interface LibvirtDisplayOptions {
  readonly host: Pick<Host, 'timeoutMs'>;
  /** The connection URI. */
  readonly uri: string;
  readonly find: (id: string) => Promise<Machine>;
}

/** The place of a VNC server: a socket or a port. `remoteHost` as in {@link DisplayAccess}. */
interface Place {
  readonly target: { readonly path: string } | { readonly host: string; readonly port: number };
  /** The connection URI, if the connection to the VNC server goes through ssh; else null. */
  readonly ssh: LibvirtUri | null;
  readonly remoteHost: string | null;
}

/** How long a VNC server may take to accept a connection. */
const CONNECT_MS = 10_000;

/** Displays of the machines of one host. */
export class LibvirtDisplay implements DisplayControl {
  readonly #options: LibvirtDisplayOptions;
  readonly #uri: LibvirtUri;

  constructor(options: LibvirtDisplayOptions) {
    this.#options = options;
    this.#uri = parseUri(options.uri);
  }

  /**
   * Checks that this service could reach a new display of a machine.
   * @throws {DriverError} conflict, if libvirt runs on another host and its URI does not use ssh.
   */
  assertDisplayReachable(name: string): void {
    const isRemoteWithoutSsh = this.#uri.host !== null && this.#uri.transport !== 'ssh';
    if (isRemoteWithoutSsh) throw unreachable(`adding a display to machine ${name}`, '127.0.0.1', this.#uri);
  }

  async find(id: string): Promise<DisplayAccess> {
    const { uuid, name, domain } = await this.#options.find(id);
    const doing = `opening the screen of machine ${name}`;
    const { timeoutMs } = this.#options.host;
    const xml = await attempt(doing, () => domain.getXmlDesc(DomainXmlFlags.SECURE, { timeoutMs }));
    if (readInstanceId(xml) === null) throw new DriverError('conflict', `${doing}: it is off`);
    const display = readVncDisplay(child(parseXml(xml).root, 'devices'));
    if (display === null) throw new DriverError('conflict', `${doing}: it has no VNC display`);
    const { target, ssh, remoteHost } = placeOf(display, this.#uri, doing);
    return {
      machine: { uuid, name },
      password: display.password,
      remoteHost,
      connect: async () => {
        if (ssh !== null) return openSshTunnel(ssh, target);
        return await connectTo(target, `connecting to the screen of machine ${name}`);
      },
    };
  }
}

/**
 * Returns the place of a VNC server.
 * @throws {DriverError} conflict, if the server listens nowhere, or only where this service cannot connect to it.
 */
function placeOf({ socket, address, port }: VncDisplay, uri: LibvirtUri, doing: string): Place {
  const ssh = uri.transport === 'ssh' ? uri : null;
  const isRemoteWithoutSsh = uri.host !== null && ssh === null;
  if (socket !== null) {
    if (isRemoteWithoutSsh) throw unreachable(doing, 'a unix socket', uri);
    return { target: { path: socket }, ssh, remoteHost: null };
  }
  if (port === null) throw new DriverError('conflict', `${doing}: its VNC display listens at no socket and no port`);
  const isEverywhere = address === null || address === '0.0.0.0' || address === '::';
  const local = address === '::' ? '::1' : '127.0.0.1';
  if (!isRemoteWithoutSsh) return { target: { host: isEverywhere ? local : address, port }, ssh, remoteHost: null };
  if (!isEverywhere && isLoopback(address)) throw unreachable(doing, address, uri);
  const host = isEverywhere ? uri.host : address;
  return { target: { host, port }, ssh: null, remoteHost: host };
}

function isLoopback(address: string): boolean {
  return address === 'localhost' || (isIP(address) === 4 && address.startsWith('127.')) || address === '::1';
}

function unreachable(doing: string, place: string, { host }: LibvirtUri): DriverError {
  const why = `its VNC display listens only at ${place} of host ${host ?? ''}; use a URI with ssh`;
  return new DriverError('conflict', `${doing}: ${why}`);
}

/** Connects to a socket or a port. @throws {DriverError} unavailable. */
function connectTo(target: Place['target'], doing: string): Promise<Duplex> {
  const options: NetConnectOpts = 'host' in target && isIPv6(target.host) ? { ...target, family: 6 } : target;
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    const fail = (cause: NodeJS.ErrnoException): void => {
      socket.destroy();
      reject(new DriverError('unavailable', `${doing}: ${cause.code ?? cause.message}`, { cause }));
    };
    const timer = setTimeout(() => fail(new Error('no answer')), CONNECT_MS);
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeListener('error', fail);
      socket.setNoDelay(true);
      resolve(socket);
    });
    socket.once('close', () => clearTimeout(timer));
  });
}
