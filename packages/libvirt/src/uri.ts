import { clientError } from './errors.js';

/** A parsed connection URI. */
export interface LibvirtUri {
  /** Original text. It contains no password, so errors may show it. */
  readonly text: string;
  /** Hypervisor driver: `qemu`, `test` and so on. */
  readonly driver: string;
  /** `/system`, `/session` or `/default`. */
  readonly path: string;
  /** Socket path of `?socket=`; null: the default sockets. */
  readonly socket: string | null;
  /**
   * URI that libvirtd opens, e.g. `qemu:///system`: the value of `?name=`, or the URI without
   * client parameters.
   */
  readonly serverName: string;
}

/** Drivers that run inside libvirt's client library and have no daemon. */
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

/** URI parameters for the client, which libvirtd must not receive. */
const clientParameters = new Set([
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

const pattern = /^([a-z][a-z0-9]*)(?:\+([a-z0-9]+))?:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i;

/**
 * Parses a libvirt connection URI: `qemu:///system`, `qemu+unix:///system?socket=/path`,
 * `test:///default`.
 * @throws {LibvirtError} INVALID_URI with the reason.
 * @see https://libvirt.org/uri.html
 */
export function parseUri(text: string): LibvirtUri {
  const match = pattern.exec(text);
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
  // The last value counts if a parameter is repeated.
  const valueOf = (name: string): string | null => parameters.findLast((each) => each.name === name)?.value ?? null;
  const forDaemon = parameters.filter(({ name }) => !clientParameters.has(name)).map(({ raw }) => raw);
  return {
    text,
    driver: scheme,
    path,
    socket: checkedSocket(text, valueOf('socket')),
    serverName: valueOf('name') ?? `${scheme}://${path}${forDaemon.length === 0 ? '' : `?${forDaemon.join('&')}`}`,
  };
}

interface Parameter {
  /** Lower case, because libvirt ignores the case of names. */
  readonly name: string;
  readonly value: string;
  /** Original text in the URI. */
  readonly raw: string;
}

/**
 * Parses the query. URLSearchParams would turn `+` into a space, but `+` is legal in a socket path.
 */
function parseQuery(text: string, query: string): readonly Parameter[] {
  // virURIParseParams also accepts semicolons.
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
  // Node truncates a path at a zero byte and would connect to another socket.
  if (socket === null || (socket.startsWith('/') && !socket.includes('\0'))) return socket;
  throw invalid(text, 'the socket must be an absolute path without a zero byte');
}

/** Properties of this process that determine the socket paths. */
export interface SocketEnvironment {
  /** User id; 0 is root. */
  readonly uid: number;
  /** `$XDG_RUNTIME_DIR`; undefined if it is not set. */
  readonly runtimeDir: string | undefined;
}

/** Result of {@link socketCandidates}. */
interface SocketCandidates {
  /** Socket paths in the order of preference. */
  readonly paths: readonly string[];
  /**
   * True if the client may start a daemon when no socket answers. As in libvirt, only for a user's
   * own daemon.
   */
  readonly mayStartDaemon: boolean;
}

/**
 * Returns the sockets of the URI's daemon. The socket of `?socket=` is the only candidate, because
 * another socket may belong to another daemon. Without `?socket=`, the candidates are the sockets of
 * libvirtd and of the modular daemon, in /run/libvirt or in the user's runtime directory.
 */
export function socketCandidates(uri: LibvirtUri, environment: SocketEnvironment): SocketCandidates {
  if (uri.socket !== null) return { paths: [uri.socket], mayStartDaemon: false };
  const session = uri.path === '/session' || (uri.driver === 'test' && environment.uid !== 0);
  const directory = session ? `${environment.runtimeDir ?? `/run/user/${environment.uid}`}/libvirt` : '/run/libvirt';
  // Every modular daemon has the test driver; virtqemud is the most common.
  const modular = uri.driver === 'test' ? 'qemu' : uri.driver;
  return {
    paths: [`${directory}/libvirt-sock`, `${directory}/virt${modular}d-sock`],
    // A libvirtd that root starts is always the system daemon.
    mayStartDaemon: session && environment.uid !== 0,
  };
}

function invalid(text: string, why: string, cause?: unknown): Error {
  // libvirt URIs have no password, but a user may write one.
  const shown = text.replace(/(:\/\/[^/?#]*?):[^/?#]*@/, '$1:***@');
  return clientError('INVALID_URI', `reading the connection URI "${shown}": ${why}`, { cause });
}
