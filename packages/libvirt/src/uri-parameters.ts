/** Parameters of a connection URI. @see https://libvirt.org/uri.html#transport-configuration */

/** Parameters that this client interprets. null: the URI does not have the parameter. */
export interface UriParameters {
  /** The URI that libvirtd opens, instead of the URI without client parameters. */
  readonly name: string | null;
  /** Path of the daemon's unix socket; with ssh, on the remote host. */
  readonly socket: string | null;
  /** `auto`: any daemon; `legacy`: libvirtd; `direct`: the driver's own daemon. Default: `auto`. */
  readonly mode: 'auto' | 'direct' | 'legacy';
  /**
   * Program that connects to the remote socket. `native`: virt-ssh-helper. `auto`: virt-ssh-helper if the remote host
   * has it, else netcat. Default: `auto`; `netcat` if another parameter needs netcat.
   */
  readonly proxy: 'auto' | 'netcat' | 'native';
  /** Name or path of the ssh client. */
  readonly command: string | null;
  /** Name or path of netcat on the remote host. */
  readonly netcat: string | null;
  /** Private key of ssh. */
  readonly keyfile: string | null;
  /** File with the host keys of ssh. */
  readonly knownHosts: string | null;
  /** ssh: `normal` rejects unknown keys, `auto` stores them, `ignore` accepts any key. */
  readonly knownHostsVerify: 'normal' | 'auto' | 'ignore' | null;
  /** ssh: store unknown host keys. tls: do not verify the server. Default: false. */
  readonly noVerify: boolean;
  /** Directory of the TLS certificates. */
  readonly pkipath: string | null;
  /** TLS versions of the parameter `tls_priority`. null: Node's defaults. */
  readonly tlsVersions: TlsVersions | null;
  /** File with user names and passwords. */
  readonly authfile: string | null;
}

/** Versions of TLS, as Node names them. */
interface TlsVersions {
  readonly minVersion: TlsVersion;
  readonly maxVersion: TlsVersion;
}

type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

/** Result of {@link readParameters}. */
interface ReadParameters {
  readonly parameters: UriParameters;
  /** Original text of the parameters that libvirtd receives. */
  readonly forDaemon: readonly string[];
}

interface Parameter {
  /** Lower case, because libvirt ignores the case of names. */
  readonly name: string;
  readonly value: string;
  /** Original text in the URI. */
  readonly raw: string;
}

/** URI parameters for the client, which libvirtd must not receive. */
const clientParameters = new Set([
  'auth',
  'authfile',
  'command',
  'keyfile',
  'known_hosts',
  'known_hosts_verify',
  'knownhosts',
  'mode',
  'name',
  'netcat',
  'no_sanity',
  'no_tty',
  'no_verify',
  'pkipath',
  'proxy',
  'socket',
  'sshauth',
  'tls_priority',
]);

/**
 * Reads the query of a URI. If a parameter is repeated, the last value counts.
 * @throws {Error} with the name of the invalid parameter.
 */
export function readParameters(query: string): ReadParameters {
  const given = split(query);
  const valueOf = (name: string): string | null => given.findLast((each) => each.name === name)?.value ?? null;
  const textOf = (name: string): string | null => text(name, valueOf(name));
  const parameters: UriParameters = {
    name: valueOf('name'),
    socket: socketPath(valueOf('socket')),
    mode: choice('mode', valueOf('mode'), ['auto', 'direct', 'legacy']) ?? 'auto',
    proxy: proxyOf(valueOf('proxy'), valueOf),
    command: textOf('command'),
    netcat: textOf('netcat'),
    keyfile: textOf('keyfile'),
    knownHosts: textOf('known_hosts') ?? textOf('knownhosts'),
    knownHostsVerify: choice('known_hosts_verify', valueOf('known_hosts_verify'), ['normal', 'auto', 'ignore']),
    noVerify: flag('no_verify', valueOf('no_verify')),
    pkipath: textOf('pkipath'),
    tlsVersions: tlsVersions(textOf('tls_priority')),
    authfile: textOf('authfile'),
  };
  // Only checks that the values are numbers. They have no effect: this client neither asks for a password, nor
  // examines the validity of its own certificate files.
  flag('no_tty', valueOf('no_tty'));
  flag('no_sanity', valueOf('no_sanity'));
  if (parameters.proxy === 'native' && parameters.netcat !== null) {
    throw new Error('parameter "netcat" is not allowed together with "proxy=native"');
  }
  return { parameters, forDaemon: given.filter(({ name }) => !clientParameters.has(name)).map(({ raw }) => raw) };
}

/**
 * Splits the query. URLSearchParams would turn `+` into a space, but `+` is legal in a socket path.
 * @throws {Error} if a parameter is badly escaped.
 */
function split(query: string): readonly Parameter[] {
  // virURIParseParams also accepts semicolons.
  const pairs = query.split(/[&;]/).filter((pair) => pair !== '');
  return pairs.map((raw) => {
    const [name = '', ...value] = raw.split('=');
    try {
      return { name: decodeURIComponent(name).toLowerCase(), value: decodeURIComponent(value.join('=')), raw };
    } catch (cause) {
      throw new Error(`parameter "${name}" is badly escaped`, { cause });
    }
  });
}

/**
 * Returns the value of `proxy`. Without this parameter, a parameter that needs netcat selects netcat,
 * as in libvirt.
 */
function proxyOf(value: string | null, valueOf: (name: string) => string | null): UriParameters['proxy'] {
  const given = choice('proxy', value, ['auto', 'netcat', 'native']);
  if (given !== null) return given;
  const needsNetcat =
    valueOf('netcat') !== null || valueOf('socket') !== null || (valueOf('mode') ?? 'auto') !== 'auto';
  return needsNetcat ? 'netcat' : 'auto';
}

function choice<const T extends string>(name: string, value: string | null, allowed: readonly T[]): T | null {
  if (value === null) return null;
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new Error(`parameter "${name}" must be ${allowed.join(', ')}, not "${value}"`);
  return found;
}

/**
 * Returns the value of a parameter; false if it is absent. As in libvirt, any number other than 0 is true.
 * @throws {Error} for another text.
 */
function flag(name: string, value: string | null): boolean {
  if (value === null) return false;
  if (!/^\s*[+-]?\d{1,9}$/.test(value)) throw new Error(`parameter "${name}" must be a number, not "${value}"`);
  return Number(value) !== 0;
}

function text(name: string, value: string | null): string | null {
  if (value === null) return null;
  // A zero byte would truncate the argument of a command.
  if (value === '' || value.includes('\0')) throw new Error(`parameter "${name}" is empty or has a zero byte`);
  return value;
}

/** Names of GnuTLS's defaults and of the host's policy. Node uses its own defaults instead. */
const DEFAULT_PRIORITIES: ReadonlySet<string> = new Set(['NORMAL', '@LIBVIRT,SYSTEM', '@SYSTEM']);

/**
 * Reads the versions of a GnuTLS priority string, such as `NORMAL:-VERS-TLS1.2`; null without a string. OpenSSL, which
 * Node uses, has no equivalent for the other parts. A keyword such as SECURE256 also limits ciphers, groups,
 * signatures and the keys of certificates. A connection without these limits would be weaker than the URI
 * requires, so this client rejects the keyword.
 * @throws {Error} for a string with another part, or one that leaves no version.
 */
function tlsVersions(priority: string | null): TlsVersions | null {
  if (priority === null) return null;
  const [base = '', ...changes] = priority.split(':');
  const enabled = new Set<TlsVersion>(['TLSv1.2', 'TLSv1.3']);
  const named = (version: string): readonly TlsVersion[] => {
    if (/^(TLS-)?ALL$/.test(version)) return ['TLSv1.2', 'TLSv1.3'];
    return version === 'TLS1.2' ? ['TLSv1.2'] : version === 'TLS1.3' ? ['TLSv1.3'] : [];
  };
  let isValid = DEFAULT_PRIORITIES.has(base);
  for (const change of changes) {
    const [, sign, version = ''] = /^([-+!])VERS-((?:TLS-)?ALL|SSL3\.0|TLS1\.[0-3])$/.exec(change) ?? [];
    if (sign === undefined || (sign === '+' && named(version).length === 0)) isValid = false;
    for (const each of named(version)) {
      if (sign === '+') enabled.add(each);
      else enabled.delete(each);
    }
  }
  const [minVersion, maxVersion = minVersion] = [...enabled].sort();
  if (!isValid || minVersion === undefined || maxVersion === undefined) {
    throw new Error(
      'parameter "tls_priority" can only select TLS versions: use NORMAL, NORMAL:-VERS-TLS1.2 or ' +
        `NORMAL:-VERS-TLS1.3 instead of "${priority}"`,
    );
  }
  return { minVersion, maxVersion };
}

function socketPath(socket: string | null): string | null {
  // Node truncates a path at a zero byte and would connect to another socket.
  if (socket === null || (socket.startsWith('/') && !socket.includes('\0'))) return socket;
  throw new Error('the socket must be an absolute path without a zero byte');
}
