import { describe, expect, it } from '@jest/globals';
import { isLibvirtError } from './errors.js';
import { parseUri, socketCandidates } from './uri.js';

const root = { uid: 0, runtimeDir: undefined };
const user = { uid: 1000, runtimeDir: '/run/user/1000' };

const noParameters = {
  authfile: null,
  command: null,
  keyfile: null,
  knownHosts: null,
  knownHostsVerify: null,
  mode: 'auto',
  name: null,
  netcat: null,
  noVerify: false,
  pkipath: null,
  proxy: 'auto',
  socket: null,
  tlsVersions: null,
};
const local = { transport: 'unix', user: null, host: null, port: null, parameters: noParameters };
const withParameters = (parameters: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  ...noParameters,
  ...('socket' in parameters ? { proxy: 'netcat' } : {}),
  ...parameters,
});

describe('a connection URI', () => {
  it.each([
    ['qemu:///system', { driver: 'qemu', path: '/system', serverName: 'qemu:///system' }],
    ['qemu+unix:///system', { driver: 'qemu', path: '/system', serverName: 'qemu:///system' }],
    ['QEMU:///session', { driver: 'qemu', path: '/session', serverName: 'qemu:///session' }],
    ['test:///default', { driver: 'test', path: '/default', serverName: 'test:///default' }],
    [
      'test+unix:///default?socket=/tmp/a+b%20c/sock',
      {
        driver: 'test',
        path: '/default',
        parameters: withParameters({ socket: '/tmp/a+b c/sock' }),
        serverName: 'test:///default',
      },
    ],
    [
      'qemu+unix:///system?socket=/s&name=qemu:///embed',
      {
        driver: 'qemu',
        path: '/system',
        parameters: withParameters({ socket: '/s', name: 'qemu:///embed' }),
        serverName: 'qemu:///embed',
      },
    ],
    // As in libvirt, the name of a parameter may be escaped, and a semicolon separates parameters.
    [
      'qemu:///system?mode=auto;%73ocket=/s',
      { driver: 'qemu', path: '/system', parameters: withParameters({ socket: '/s' }), serverName: 'qemu:///system' },
    ],
    [
      'lxc:///?socket=/s&own=1',
      { driver: 'lxc', path: '/', parameters: withParameters({ socket: '/s' }), serverName: 'lxc:///?own=1' },
    ],
  ])('is parsed: %s', (text, parts) => {
    expect(parseUri(text)).toEqual({ text, ...local, ...parts });
  });

  it.each([
    ['qemu+ssh://host/system', { transport: 'ssh', host: 'host' }],
    ['qemu+SSH:///system', { transport: 'ssh', host: 'localhost' }],
    ['qemu+ssh://root@host:2222/system', { transport: 'ssh', user: 'root', host: 'host', port: 2222 }],
    ['qemu+ssh://a%40b@[fe80::1%25eth0]:22/system', { transport: 'ssh', user: 'a@b', host: 'fe80::1%eth0', port: 22 }],
    [
      'qemu+ssh://h/system?keyfile=/k&no_verify=1&no_tty=1&command=/c&netcat=/n&sshauth=agent&no_sanity=1&auth=x',
      {
        transport: 'ssh',
        host: 'h',
        parameters: withParameters({ keyfile: '/k', noVerify: true, command: '/c', netcat: '/n', proxy: 'netcat' }),
      },
    ],
    [
      'qemu+ssh://h/system?proxy=native&known_hosts=/a&known_hosts_verify=auto&no_verify=0',
      {
        transport: 'ssh',
        host: 'h',
        parameters: withParameters({ proxy: 'native', knownHosts: '/a', knownHostsVerify: 'auto' }),
      },
    ],
    ['qemu://host/system', { transport: 'tls', host: 'host' }],
    ['qemu+tcp://:5000/system', { transport: 'tcp', host: 'localhost', port: 5000 }],
    [
      'qemu+tls://h/system?pkipath=/p&tls_priority=NORMAL:-VERS-SSL3.0:-VERS-TLS1.2&authfile=/a',
      {
        transport: 'tls',
        host: 'h',
        parameters: withParameters({
          pkipath: '/p',
          authfile: '/a',
          tlsVersions: { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' },
        }),
      },
    ],
    [
      'qemu+ssh://h/system?mode=direct',
      { transport: 'ssh', host: 'h', parameters: withParameters({ mode: 'direct', proxy: 'netcat' }) },
    ],
  ])('is parsed with its remote transport and parameters: %s', (text, parts) => {
    const common = { driver: 'qemu', path: '/system', serverName: 'qemu:///system' };
    expect(parseUri(text)).toEqual({ text, ...local, ...common, ...parts });
  });

  it.each([
    ['', 'a libvirt URI looks like qemu:///system'],
    ['qemu', 'a libvirt URI looks like qemu:///system'],
    ['qemu:///sytem', "the path /sytem is not one of QEMU's; use /system or /session"],
    ['qemu:///', "the path / is not one of QEMU's; use /system or /session"],
    ['qemu+ssh://host', "the path / is not one of QEMU's; use /system or /session"],
    ['qemu:///system/', "the path /system/ is not one of QEMU's; use /system or /session"],
    ['kvm:///system', 'the URI must begin with a libvirt driver, not with "kvm"; write qemu:///system'],
    ['qemu+libssh2://host/system', 'transport "libssh2" is not supported: use ssh'],
    ['qemu+ext://host/system', 'transport "ext" is not supported: use one of unix, ssh, tls, tcp'],
    ...[
      ...['NORMAL:-VERS-ALL', 'NORMAL:+AES-128-CBC', 'NORMAL:+VERS-TLS1.0', 'PERFORMANCE', ':'],
      ...['SECURE128', 'SECURE192', 'SECURE256', 'SECURE256:-VERS-TLS1.2'],
    ].map((priority) => [
      `qemu+tls://host/system?tls_priority=${priority}`,
      'parameter "tls_priority" can only select TLS versions: use NORMAL, NORMAL:-VERS-TLS1.2 or ' +
        `NORMAL:-VERS-TLS1.3 instead of "${priority}"`,
    ]),
    [
      'qemu+ssh://host/session?proxy=netcat',
      'parameter "socket" is missing: netcat cannot find the socket of a session',
    ],
    ['qemu+unix://host/system', 'the unix transport connects only to this host, not to "host"'],
    ['qemu+ssh://host:0/system', 'port 0 is not in the range 1 to 65535'],
    ['qemu+ssh://host:65536/system', 'port 65536 is not in the range 1 to 65535'],
    ['qemu+ssh://fe80::1/system', 'the text after // is not host or host:port; an IPv6 address needs brackets'],
    ['qemu+ssh://-oProxyCommand=x/system', 'the host has a character that is not allowed'],
    ['qemu+ssh://$(x)@host/system', 'the user name has a character that is not allowed'],
    ['qemu+ssh://host/system?no_verify=yes', 'parameter "no_verify" must be a number, not "yes"'],
    ['qemu+ssh://host/system?no_tty=', 'parameter "no_tty" must be a number, not ""'],
    ['qemu+ssh://host/system?mode=fast', 'parameter "mode" must be auto, direct, legacy, not "fast"'],
    ['qemu+ssh://host/system?proxy=nc', 'parameter "proxy" must be auto, netcat, native, not "nc"'],
    ['qemu+ssh://host/system?keyfile=', 'parameter "keyfile" is empty or has a zero byte'],
    ['qemu+ssh://host/system?command=%00', 'parameter "command" is empty or has a zero byte'],
    ['qemu+ssh://host/system?proxy=native&netcat=nc', 'parameter "netcat" is not allowed together with "proxy=native"'],
    ['esx://host/', "the esx driver runs inside libvirt's own client library, not in a daemon"],
    ['http://x', 'the URI must begin with a libvirt driver, not with "http"; write qemu+tls://HOST/system'],
    ['HTTPS://x/', 'the URI must begin with a libvirt driver, not with "https"; write qemu+tls://HOST/system'],
    ['ssh://root@x', 'the URI must begin with a libvirt driver, not with "ssh"; write qemu+ssh://HOST/system'],
    ['tcp://x/system', 'the URI must begin with a libvirt driver, not with "tcp"; write qemu+tcp://HOST/system'],
    ['tls://x/system', 'the URI must begin with a libvirt driver, not with "tls"; write qemu+tls://HOST/system'],
    ['unix:///s', 'the URI must begin with a libvirt driver, not with "unix"; write qemu:///system'],
    ['file:///s', 'the URI must begin with a libvirt driver, not with "file"; write qemu:///system'],
    ['qemu+unix:///system?socket=sock', 'the socket must be an absolute path without a zero byte'],
    ['qemu+unix:///system?socket=%zz', 'parameter "socket" is badly escaped'],
    ['qemu+unix:///system?socket=/run/a%00b', 'the socket must be an absolute path without a zero byte'],
  ])('is rejected with a reason: "%s"', (text, why) => {
    let error: unknown;
    try {
      parseUri(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(isLibvirtError(error, 'INVALID_URI')).toBe(true);
    expect(error).toHaveProperty('message', `reading the connection URI "${text}": ${why}`);
  });

  it('is rejected if it has a password, which the error does not contain', () => {
    expect(() => parseUri('qemu+ssh://root:secret@host/system')).toThrow(
      'reading the connection URI "qemu+ssh://root:***@host/system": a password in a URI is not supported; ' +
        "write it into libvirt's auth.conf",
    );
    for (const password of [
      'secret',
      'secret/a',
      'a/secret',
      'secret?secret',
      'a#secret',
      'a@secret',
      'secret\nsecret',
    ])
      expect(() => parseUri(`qemu+ftp://root:${password}@host/system`)).toThrow(/^((?!secret).)*$/s);
    expect(() => parseUri('qemu+ssh://root%3asecret@host/system')).toThrow(/root:\*\*\*@host.*a password in a URI/);
  });
});

describe('the sockets of a URI', () => {
  it.each([
    ['qemu:///system', root, ['/run/libvirt/libvirt-sock', '/run/libvirt/virtqemud-sock'], false],
    ['qemu:///system', user, ['/run/libvirt/libvirt-sock', '/run/libvirt/virtqemud-sock'], false],
    ['qemu:///session', user, ['/run/user/1000/libvirt/libvirt-sock', '/run/user/1000/libvirt/virtqemud-sock'], true],
    [
      'qemu:///session',
      { uid: 7, runtimeDir: undefined },
      ['/run/user/7/libvirt/libvirt-sock', '/run/user/7/libvirt/virtqemud-sock'],
      true,
    ],
    // A libvirtd that root starts is the system daemon, so the client never starts one for a session of root.
    ['qemu:///session', root, ['/run/user/0/libvirt/libvirt-sock', '/run/user/0/libvirt/virtqemud-sock'], false],
    ['test:///default', root, ['/run/libvirt/libvirt-sock', '/run/libvirt/virtqemud-sock'], false],
    ['lxc:///', root, ['/run/libvirt/libvirt-sock', '/run/libvirt/virtlxcd-sock'], false],
  ])('are those of libvirtd and of the modular daemon: %s for %o', (text, places, paths, mayStartDaemon) => {
    expect(socketCandidates(parseUri(text), places)).toEqual({ paths, mayStartDaemon });
  });

  it('are only that of libvirtd for mode=legacy, and only that of the modular daemon for mode=direct', () => {
    expect(socketCandidates(parseUri('qemu:///system?mode=legacy'), root).paths).toEqual(['/run/libvirt/libvirt-sock']);
    expect(socketCandidates(parseUri('qemu:///system?mode=direct'), root).paths).toEqual([
      '/run/libvirt/virtqemud-sock',
    ]);
  });

  it('are only the socket that the URI names, if it names one', () => {
    expect(socketCandidates(parseUri('qemu:///session?socket=/tmp/s'), user)).toEqual({
      paths: ['/tmp/s'],
      mayStartDaemon: false,
    });
  });
});
