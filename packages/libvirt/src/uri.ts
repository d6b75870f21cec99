import { clientError, toError } from './errors.js';
import { readParameters, type UriParameters } from './uri-parameters.js';

/** Transports to libvirtd. */
type TransportName = 'unix' | 'ssh' | 'tls' | 'tcp';

/** A parsed connection URI. */
export interface LibvirtUri {
  /** Original text. It contains no password, so errors may show it. */
  readonly text: string;
  /** Hypervisor driver, such as `qemu` or `test`. */
  readonly driver: string;
  readonly transport: TransportName;
  /** User name for ssh or for authentication at libvirtd; null: the default. */
  readonly user: string | null;
  /** Host name or address, without brackets; null: this host, through a unix socket. */
  readonly host: string | null;
  /** null: the default port of the transport. */
  readonly port: number | null;
  /** Such as `/system`, `/session` or `/default`; `/` if the URI has no path. */
  readonly path: string;
  readonly parameters: UriParameters;
  /**
   * URI that libvirtd opens, such as `qemu:///system`: the value of `?name=`, or the driver, the path
   * and the parameters for libvirtd.
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

/** Schemes that users write in place of a driver, with a URI that has the right form. */
const schemesWithoutDriver = new Map([
  ['http', 'qemu+tls://HOST/system'],
  ['https', 'qemu+tls://HOST/system'],
  ['tls', 'qemu+tls://HOST/system'],
  ['tcp', 'qemu+tcp://HOST/system'],
  ['ssh', 'qemu+ssh://HOST/system'],
  ['unix', 'qemu:///system'],
  ['file', 'qemu:///system'],
  ['kvm', 'qemu:///system'],
]);

const transports: readonly TransportName[] = ['unix', 'ssh', 'tls', 'tcp'];
const pattern = /^([a-z][a-z0-9]*)(?:\+([a-z0-9]+))?:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i;

/**
 * Parses a libvirt connection URI, such as `qemu:///system`, `qemu+unix:///system?socket=/path` or
 * `qemu+ssh://root@host/system`.
 * @throws {LibvirtError} INVALID_URI with the reason.
 * @see https://libvirt.org/uri.html
 */
export function parseUri(text: string): LibvirtUri {
  try {
    return parse(text);
  } catch (error) {
    const { message, cause } = toError(error);
    // libvirt URIs have no password, but a user may write one.
    const shown = text.replace(/(:\/\/[^/?#]*?)(?::|%3a).*@/is, '$1:***@');
    throw clientError('INVALID_URI', `reading the connection URI "${shown}": ${message}`, { cause });
  }
}

function parse(text: string): LibvirtUri {
  const match = pattern.exec(text);
  if (match === null) throw new Error('a libvirt URI looks like qemu:///system');
  const [, scheme = '', transportText, authority = '', path = '/', query = ''] = match;
  const driver = scheme.toLowerCase();
  if (clientSideDrivers.has(driver)) {
    throw new Error(`the ${driver} driver runs inside libvirt's own client library, not in a daemon`);
  }
  const rightForm = schemesWithoutDriver.get(driver);
  if (rightForm !== undefined) {
    throw new Error(`the URI must begin with a libvirt driver, not with "${driver}"; write ${rightForm}`);
  }
  const address = readAuthority(authority);
  // As in libvirt: a host without a transport means TLS.
  const transport = readTransport(transportText ?? (address.host === null ? 'unix' : 'tls'));
  if (transport === 'unix' && authority !== '') {
    throw new Error(`the unix transport connects only to this host, not to "${address.host ?? ''}"`);
  }
  const { parameters, forDaemon } = readParameters(query);
  if (transport === 'ssh' && path === '/session' && parameters.proxy === 'netcat' && parameters.socket === null) {
    throw new Error('parameter "socket" is missing: netcat cannot find the socket of a session');
  }
  if (driver === 'qemu' && parameters.name === null && path !== '/system' && path !== '/session')
    throw new Error(`the path ${path} is not one of QEMU's; use /system or /session`);
  return {
    text,
    driver,
    transport,
    ...address,
    host: transport === 'unix' ? null : (address.host ?? 'localhost'),
    path,
    parameters,
    serverName: parameters.name ?? `${driver}://${path}${forDaemon.length === 0 ? '' : `?${forDaemon.join('&')}`}`,
  };
}

function readTransport(text: string): TransportName {
  const found = transports.find((each) => each === text.toLowerCase());
  if (found !== undefined) return found;
  const hint = /^libssh2?$/i.test(text) ? 'use ssh' : `use one of ${transports.join(', ')}`;
  throw new Error(`transport "${text}" is not supported: ${hint}`);
}

/** Reads `[user@][host][:port]`. The host may be an IPv6 address in brackets. @throws {Error} for another text. */
function readAuthority(authority: string): Pick<LibvirtUri, 'user' | 'host' | 'port'> {
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? null : decoded('user name', authority.slice(0, at));
  if (user?.includes(':') === true) {
    throw new Error("a password in a URI is not supported; write it into libvirt's auth.conf");
  }
  const rest = authority.slice(at + 1);
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::(\d{0,5}))?$/.exec(rest) ?? [];
  if (bracketed === undefined && plain === undefined) {
    // The message omits the text, which may be the beginning of a password with a slash.
    throw new Error('the text after // is not host or host:port; an IPv6 address needs brackets');
  }
  const port = digits === undefined || digits === '' ? null : Number(digits);
  if (port !== null && (port < 1 || port > 65_535)) throw new Error(`port ${port} is not in the range 1 to 65535`);
  const host = decoded('host', bracketed ?? plain ?? '');
  return { user: user === '' ? null : user, host: host === '' ? null : host, port };
}

function decoded(what: string, text: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text);
  } catch (cause) {
    throw new Error(`the ${what} is badly escaped`, { cause });
  }
  // ssh passes the user name and the host to the commands of its configuration.
  if (/^-|[\s\p{Cc}'"`$;&<>|(){}]/u.test(value)) throw new Error(`the ${what} has a character that is not allowed`);
  return value;
}

/**
 * Returns the socket name of a driver's own daemon. Every daemon has the test driver; virtqemud is
 * the most common.
 */
export const daemonSocket = (driver: string): string => `virt${driver === 'test' ? 'qemu' : driver}d-sock`;

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
 * another socket may belong to another daemon. Without `?socket=`, the candidates are the sockets
 * of libvirtd and of the modular daemon, in /run/libvirt or in the user's runtime directory.
 * `?mode=legacy` or `?mode=direct` selects one of the two.
 */
export function socketCandidates(uri: LibvirtUri, environment: SocketEnvironment): SocketCandidates {
  const { socket, mode } = uri.parameters;
  if (socket !== null) return { paths: [socket], mayStartDaemon: false };
  const session = uri.path === '/session' || (uri.driver === 'test' && environment.uid !== 0);
  const directory = session ? `${environment.runtimeDir ?? `/run/user/${environment.uid}`}/libvirt` : '/run/libvirt';
  const legacySocket = `${directory}/libvirt-sock`;
  const directSocket = `${directory}/${daemonSocket(uri.driver)}`;
  return {
    paths: [...(mode === 'direct' ? [] : [legacySocket]), ...(mode === 'legacy' ? [] : [directSocket])],
    // A libvirtd that root starts is always the system daemon.
    mayStartDaemon: session && environment.uid !== 0,
  };
}
