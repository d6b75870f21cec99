/** Finds out why the daemon cannot connect to the libvirt of another host. */
import { existsSync } from 'node:fs';
import { authorityFiles } from '@rackless/libvirt';
import { asAccount, asRoot, commandLine, installCommand } from '../../../findings/commands.js';
import { problem, type Finding } from '../../../findings/finding.js';
import { certificateFileFinding } from './certificate-file.js';
import type { ExaminedHost } from './examined-host.js';
import { LIBVIRT_DAEMONS } from './local-connection.js';
import { urlHost } from '../../../host/ip-network.js';

/** Port of libvirtd's TLS socket. */
const TLS_PORT = 16_514;
/** Ports of the transports, if the URI has none. */
const DEFAULT_PORTS = { ssh: 22, tls: TLS_PORT, tcp: 16_509, unix: null } as const;
/** libvirt's file of the certificate authority of a server. */
const SYSTEM_AUTHORITY = '/etc/pki/CA/cacert.pem';
const EFFECT = 'so the daemon answers 503 for its machines';

/** A reason that the client or ssh reports, and a command that removes it or shows more. */
interface Reason {
  readonly pattern: RegExp;
  readonly subject: string;
  readonly cause: string | ((host: ExaminedHost, text: string) => string);
  fix(host: ExaminedHost): string;
}

const hostAndPort = ({ parsed: { host, port } }: ExaminedHost): string =>
  port === null ? (host ?? 'localhost') : `[${host ?? 'localhost'}]:${port}`;

const knownHosts = ({ parsed }: ExaminedHost): string => parsed.parameters.knownHosts ?? '~/.ssh/known_hosts';

/** Quotes a path for a shell, unless the path begins with `~/`: a shell does not expand a quoted `~`. */
const fileWord = (file: string): string => (file.startsWith('~/') ? file : commandLine(file));

const copyKey = (host: ExaminedHost): string => host.ssh().replace(/^ssh /, 'ssh-copy-id ');

const startLibvirt = (host: ExaminedHost): string =>
  host.asRoot(...LIBVIRT_DAEMONS.map((daemon) => `systemctl enable --now ${daemon}.socket`));

/** Returns the sentence for a closed port. ssh's error names the port, which ssh's configuration may have changed. */
function closedPort({ parsed: { port, transport } }: ExaminedHost, text: string): string {
  const [, reported] = /\bport (\d+)/.exec(text) ?? [];
  const closed = reported ?? port ?? DEFAULT_PORTS[transport];
  return `No service listens at ${closed === null ? 'the port' : `port ${closed}`} of the host`;
}

/**
 * Returns the command that makes libvirtd listen at its port; with ssh, the command that shows the address and the
 * port that ssh uses.
 */
const commandForPort = (host: ExaminedHost): string => {
  const { transport } = host.parsed;
  if (transport === 'ssh') return host.ssh('true').replace(/^ssh/, 'ssh -v');
  return openSocket(host, transport);
};

/** Returns the command that makes systemd listen at the socket of a transport on the host. */
const openSocket = (host: ExaminedHost, transport: string): string =>
  // systemd does not open another socket of a service that runs, so the command stops the service first.
  host.asRoot(
    ...['virtproxyd', 'libvirtd'].map(
      (daemon) => `sh -c "systemctl stop ${daemon} && systemctl enable --now ${daemon}-${transport}.socket"`,
    ),
  );

/** Returns the command that shows the certificate of libvirtd, as this host receives it. */
const showCertificate = ({ parsed: { host, port } }: ExaminedHost): string => {
  const address = `${urlHost(host ?? 'localhost')}:${port ?? TLS_PORT}`;
  const receive = `openssl s_client ${commandLine('-connect', address)} </dev/null`;
  return `${receive} | openssl x509 -noout -subject -issuer -dates -ext subjectAltName`;
};

/** Returns the command that adds the authority of the host to those that this account trusts. */
const trustAuthority = (host: ExaminedHost): string => {
  const {
    account: { uid },
    parsed: { parameters },
  } = host;
  const files = authorityFiles(parameters.pkipath, { uid });
  const file = files.find((each) => existsSync(each)) ?? files.at(-1) ?? SYSTEM_AUTHORITY;
  return `${host.ssh('cat', SYSTEM_AUTHORITY)} | ${asRoot(commandLine('tee', '-a', file), uid)}`;
};

/** All reasons. The first match applies, because several patterns can match the lines that ssh prints. */
const reasons: readonly Reason[] = [
  {
    pattern: /REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed/i,
    subject: 'ssh',
    cause: 'The ssh host key of the host differs from the stored one',
    fix: (host) =>
      `ssh-keygen -R ${commandLine(hostAndPort(host))} -f ${fileWord(knownHosts(host))} && ${host.ssh('true')}`,
  },
  {
    pattern: /Host key verification failed|host key is known/i,
    subject: 'ssh',
    cause: 'The ssh host key of the host is not in known_hosts',
    fix: (host) => host.ssh('true').replace(/^ssh/, 'ssh -o StrictHostKeyChecking=accept-new'),
  },
  {
    pattern: /UNPROTECTED PRIVATE KEY FILE|bad permissions/i,
    subject: 'ssh',
    cause: 'ssh ignores the private key for the host, because other accounts can read it',
    fix: ({ parsed }) => `chmod 600 ${fileWord(parsed.parameters.keyfile ?? '~/.ssh/id_*')}`,
  },
  {
    pattern: /Identity file .* not accessible: No such file.*Permission denied/i,
    subject: 'ssh',
    cause: 'The private key of the URI does not exist',
    fix: (host) =>
      `ssh-keygen -t ed25519 -N '' -f ${fileWord(host.parsed.parameters.keyfile ?? '')} && ${copyKey(host)}`,
  },
  {
    pattern: /Permission denied/i,
    subject: 'ssh',
    cause: 'The host rejects the ssh keys of this account',
    fix: copyKey,
  },
  {
    pattern: /cannot be started: spawn/,
    subject: 'ssh',
    cause: 'There is no ssh client to connect to the host',
    fix: ({ account }) =>
      asRoot(
        installCommand({
          debian: 'openssh-client',
          fedora: 'openssh-clients',
          suse: 'openssh-clients',
          arch: 'openssh',
        }),
        account.uid,
      ),
  },
  {
    pattern: /Could not resolve hostname|ENOTFOUND|EAI_AGAIN/i,
    subject: 'name',
    cause: 'The name of the host has no address',
    fix: ({ parsed, account }) =>
      asRoot(commandLine('sh', '-c', `echo "ADDRESS ${parsed.host ?? ''}" >> /etc/hosts`), account.uid),
  },
  {
    pattern: /printed ".*" before the first message/,
    subject: 'ssh',
    cause: 'The shell of the host prints text before the commands that it runs over ssh',
    fix: (host) => host.ssh('true'),
  },
  {
    pattern: /polkit|org\.libvirt\.unix/i,
    subject: 'polkit',
    cause: 'polkit on the host does not let the ssh user use libvirt',
    fix: (host) => host.asRoot(commandLine('usermod', '-aG', 'libvirt', host.parsed.user ?? host.account.name)),
  },
  {
    pattern: /(?:libvirt|virt\w+d)-sock|unix connect failed/i,
    subject: 'socket',
    cause: 'libvirt does not run on the host, or rejects the ssh user',
    fix: startLibvirt,
  },
  {
    pattern: /exit code 127|(?:virt-ssh-helper|nc|netcat): (?:command )?not found/i,
    subject: 'ssh',
    cause: 'The host has neither virt-ssh-helper nor a netcat that knows -U',
    fix: (host) =>
      host.install({
        debian: 'libvirt-daemon netcat-openbsd',
        fedora: 'libvirt-daemon',
        suse: 'libvirt-daemon',
        arch: 'libvirt openbsd-netcat',
      }),
  },
  {
    pattern:
      /does not accept (?:the certificate of this client|this client's certificate)|\balert (?:unknown ca|bad certificate|certificate|access denied)/i,
    subject: 'certificate',
    cause: 'libvirtd on the host does not accept the certificate of this account',
    fix: (host) => host.asRoot('journalctl -n 50 -u libvirtd -u virtproxyd'),
  },
  {
    pattern: /certificate has expired|CERT_HAS_EXPIRED/,
    subject: 'certificate',
    cause: 'The certificate of libvirtd has expired on the host',
    fix: showCertificate,
  },
  {
    pattern: /certificate is not yet valid|CERT_NOT_YET_VALID/,
    subject: 'certificate',
    cause: 'The certificate of libvirtd is not valid yet, or a clock is wrong',
    fix: showCertificate,
  },
  {
    pattern: /altname|does not match/i,
    subject: 'certificate',
    cause: 'The certificate of the host has another name than the URI',
    fix: showCertificate,
  },
  {
    pattern: /self[- ]signed|unable to (?:verify|get)/i,
    subject: 'certificate',
    cause: 'This account does not trust the certificate authority of the host',
    fix: trustAuthority,
  },
  {
    pattern: /not safe over tcp/,
    subject: 'password',
    cause: 'libvirtd wants a password, which this account sends only over TLS',
    fix: (host) => openSocket(host, 'tls'),
  },
  {
    pattern: /authentication|SASL|password/i,
    subject: 'password',
    cause: 'The host rejects the password, or auth.conf has none for the host',
    fix: () => '"${EDITOR:-vi}" ~/.config/libvirt/auth.conf',
  },
  {
    pattern: /ECONNREFUSED|Connection refused/i,
    subject: 'network',
    cause: closedPort,
    fix: commandForPort,
  },
  {
    pattern: /kex_exchange|Connection (?:reset|closed)|ECONNRESET/i,
    subject: 'network',
    cause: 'The host closes the connection before libvirt answers',
    fix: (host) => host.asRoot('journalctl -n 50 -u ssh -u sshd -u libvirtd'),
  },
  {
    pattern: /EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|No route to host|Network is unreachable|Connection timed out/i,
    subject: 'network',
    cause: 'The network does not reach the host',
    fix: ({ parsed }) => `ping -c 3 ${commandLine(parsed.host ?? 'localhost')}`,
  },
];

/**
 * Returns a finding with the reason of a failed connection, and a command that removes this reason or shows
 * more; null for an unknown reason.
 * @param text the error of the connection without the URI.
 */
export function remoteConnectionFinding(text: string, host: ExaminedHost): Finding | null {
  const { transport } = host.parsed;
  const file = transport === 'tls' ? certificateFileFinding(text, host) : null;
  if (file !== null) return file;
  const possible = reasons.filter(({ subject }) => subject !== 'ssh' || transport === 'ssh');
  const found = possible.find(({ pattern }) => pattern.test(text));
  if (found === undefined) return null;
  const cause = typeof found.cause === 'string' ? found.cause : found.cause(host, text);
  return problem(found.subject, `${cause}, ${EFFECT}.`, asAccount(found.fix(host), host.account));
}
