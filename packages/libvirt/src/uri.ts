import { clientError } from './errors.js';

/** A connection URI, taken apart. */
export interface LibvirtUri {
  /** As given; one that is accepted has no user and so no password, so it appears in errors. */
  readonly text: string;
  /** The hypervisor driver: `qemu`, `test`, … */
  readonly driver: string;
  /** `/system`, `/session`, `/default`. */
  readonly path: string;
  /** `?socket=`: the one socket to use, null for the usual places. */
  readonly socket: string | null;
  /** What libvirtd is asked to open, e.g. `qemu:///system`: the URI without what only concerns the way there, or `?name=`. */
  readonly serverName: string;
}

/** Drivers that live in libvirt's client library: there is no daemon to talk to. */
const clientSideDrivers = new Set([
  'esx',
  'gsx',
  'vpx',
  'vmwareplayer',
  'vmwarews',
  'vmwarefusion',
  'hyperv',
  'phyp',
  'openvz',
]);

/** Parameters for the client, not for the daemon. */
const ownParameters = new Set([
  'socket',
  'name',
  'mode',
  'keyfile',
  'command',
  'netcat',
  'no_verify',
  'no_tty',
  'pkipath',
  'proxy',
  'auth',
  'sshauth',
  'known_hosts',
  'known_hosts_verify',
  'knownhosts',
  'tls_priority',
]);

const shape = /^([a-z][a-z0-9]*)(?:\+([a-z0-9]+))?:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i;

/**
 * Takes a libvirt connection URI apart: `qemu:///system`, `qemu+unix:///system?socket=/run/…`, `test:///default`.
 * @throws {LibvirtError} INVALID_URI, naming what is wrong with it.
 * @see https://libvirt.org/uri.html
 */
export function parseUri(text: string): LibvirtUri {
  const match = shape.exec(text);
  if (match === null) throw invalid(text, 'a libvirt URI looks like qemu:///system');
  const [, driver = '', transport = 'unix', authority = '', path = '/', query = ''] = match;
  const scheme = driver.toLowerCase();
  if (clientSideDrivers.has(scheme)) {
    throw invalid(text, `the ${scheme} driver runs inside libvirt's own client library, not in a daemon`);
  }
  if (transport.toLowerCase() !== 'unix') {
    throw invalid(text, `transport "${transport}" is not supported yet, only unix sockets on this host are`);
  }
  if (authority !== '') {
    const host = authority.replace(/^.*@/, '');
    throw invalid(text, `host "${host}" needs a remote transport, which is not supported yet`);
  }
  const parameters = parseQuery(text, query);
  // Of several the last counts.
  const valueOf = (name: string): string | null => parameters.findLast((each) => each.name === name)?.value ?? null;
  const forDaemon = parameters.filter(({ name }) => !ownParameters.has(name)).map(({ raw }) => raw);
  return {
    text,
    driver: scheme,
    path,
    socket: checkedSocket(text, valueOf('socket')),
    serverName: valueOf('name') ?? `${scheme}://${path}${forDaemon.length === 0 ? '' : `?${forDaemon.join('&')}`}`,
  };
}

interface Parameter {
  /** Lower case: libvirt compares names without regard to case. */
  readonly name: string;
  readonly value: string;
  /** As it stands in the URI. */
  readonly raw: string;
}

/** By hand: URLSearchParams makes a space of `+`, which libvirt does not and which is legal in the path of a socket. */
function parseQuery(text: string, query: string): readonly Parameter[] {
  // As virURIParseParams, which takes the semicolon too.
  const pairs = query.split(/[&;]/).filter((pair) => pair !== '');
  return pairs.map((raw) => {
    const [name = '', ...value] = raw.split('=');
    try {
      return { name: decodeURIComponent(name).toLowerCase(), value: decodeURIComponent(value.join('=')), raw };
    } catch (cause) {
      throw invalid(text, `parameter "${name}" is badly escaped`, cause);
    }
  });
}

function checkedSocket(text: string, socket: string | null): string | null {
  // Node cuts a path off at a zero byte, and connects to what is there.
  if (socket === null || (socket.startsWith('/') && !socket.includes('\0'))) return socket;
  throw invalid(text, 'the socket must be an absolute path without a zero byte');
}

/** Where the environment says that sockets are. */
export interface SocketPlaces {
  /** 0 for root. */
  readonly uid: number;
  /** $XDG_RUNTIME_DIR; undefined where it is not set. */
  readonly runtimeDir: string | undefined;
}

/** The sockets that may lead to the URI's daemon, best first, and whether a daemon may be started when none answers. */
export interface SocketCandidates {
  readonly paths: readonly string[];
  /** A user's own daemon is started on demand, as libvirt does; the system's never is. */
  readonly mayStart: boolean;
}

/**
 * `?socket=` alone when it is given: falling back to another one would reach another daemon. Else the monolithic daemon's
 * socket, then the modular one of the driver, in /run/libvirt or for `/session` in the user's runtime directory.
 */
export function socketCandidates(uri: LibvirtUri, places: SocketPlaces): SocketCandidates {
  if (uri.socket !== null) return { paths: [uri.socket], mayStart: false };
  const session = uri.path === '/session' || (uri.driver === 'test' && places.uid !== 0);
  const directory = session ? `${places.runtimeDir ?? `/run/user/${places.uid}`}/libvirt` : '/run/libvirt';
  // The test driver is part of every daemon; qemu's is the one that is there.
  const modular = uri.driver === 'test' ? 'qemu' : uri.driver;
  return {
    paths: [`${directory}/libvirt-sock`, `${directory}/virt${modular}d-sock`],
    // As root, a libvirtd that is started is the system's daemon, whatever the URI says.
    mayStart: session && places.uid !== 0,
  };
}

function invalid(text: string, why: string, cause?: unknown): Error {
  // libvirt's URIs have no place for a password; somebody may write one all the same.
  const shown = text.replace(/(:\/\/[^/?#]*?):[^/?#]*@/, '$1:***@');
  return clientError('INVALID_URI', `reading the connection URI "${shown}": ${why}`, { cause });
}
