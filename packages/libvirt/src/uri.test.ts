import { describe, expect, it } from '@jest/globals';
import { isLibvirtError } from './errors.js';
import { parseUri, socketCandidates } from './uri.js';

const root = { uid: 0, runtimeDir: undefined };
const user = { uid: 1000, runtimeDir: '/run/user/1000' };

describe('a connection URI', () => {
  it.each([
    ['qemu:///system', { driver: 'qemu', path: '/system', socket: null, serverName: 'qemu:///system' }],
    ['qemu+unix:///system', { driver: 'qemu', path: '/system', socket: null, serverName: 'qemu:///system' }],
    ['QEMU:///session', { driver: 'qemu', path: '/session', socket: null, serverName: 'qemu:///session' }],
    ['test:///default', { driver: 'test', path: '/default', socket: null, serverName: 'test:///default' }],
    [
      'test+unix:///default?socket=/tmp/a+b%20c/sock',
      { driver: 'test', path: '/default', socket: '/tmp/a+b c/sock', serverName: 'test:///default' },
    ],
    [
      'qemu+unix:///system?socket=/s&name=qemu:///embed',
      { driver: 'qemu', path: '/system', socket: '/s', serverName: 'qemu:///embed' },
    ],
    // As in libvirt's parser: names may be escaped, and a semicolon is a separator.
    [
      'qemu:///system?mode=auto;%73ocket=/s',
      { driver: 'qemu', path: '/system', socket: '/s', serverName: 'qemu:///system' },
    ],
    ['lxc:///?socket=/s&own=1', { driver: 'lxc', path: '/', socket: '/s', serverName: 'lxc:///?own=1' }],
  ])('%s is parsed', (text, parts) => {
    expect(parseUri(text)).toEqual({ text, ...parts });
  });

  it.each([
    ['', 'a libvirt URI looks like qemu:///system'],
    ['qemu', 'a libvirt URI looks like qemu:///system'],
    ['qemu+ssh://host/system', 'transport "ssh" is not supported yet, only unix sockets on this host are'],
    ['qemu+tls://host/system', 'transport "tls" is not supported yet, only unix sockets on this host are'],
    ['qemu://host/system', 'host "host" needs a remote transport, which is not supported yet'],
    ['esx://host/', "the esx driver runs inside libvirt's own client library, not in a daemon"],
    ['qemu+unix:///system?socket=sock', 'the socket must be an absolute path without a zero byte'],
    ['qemu+unix:///system?socket=%zz', 'parameter "socket" is badly escaped'],
    ['qemu+unix:///system?socket=/run/a%00b', 'the socket must be an absolute path without a zero byte'],
  ])('"%s" is rejected with a reason', (text, why) => {
    let error: unknown;
    try {
      parseUri(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(isLibvirtError(error, 'INVALID_URI')).toBe(true);
    expect(error).toHaveProperty('message', `reading the connection URI "${text}": ${why}`);
  });

  it('is rejected without its password in the error', () => {
    expect(() => parseUri('qemu+tcp://root:secret@host/system')).toThrow(
      'reading the connection URI "qemu+tcp://root:***@host/system": transport "tcp" is not supported yet',
    );
    expect(() => parseUri('qemu://root:secret@host/system')).toThrow(/: host "host" needs a remote transport/);
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
    // A libvirtd that root starts is the system daemon, so it is never started for a session.
    ['qemu:///session', root, ['/run/user/0/libvirt/libvirt-sock', '/run/user/0/libvirt/virtqemud-sock'], false],
    ['test:///default', root, ['/run/libvirt/libvirt-sock', '/run/libvirt/virtqemud-sock'], false],
    ['lxc:///', root, ['/run/libvirt/libvirt-sock', '/run/libvirt/virtlxcd-sock'], false],
  ])('%s for %o are those of libvirtd and the modular daemon', (text, places, paths, mayStartDaemon) => {
    expect(socketCandidates(parseUri(text), places)).toEqual({ paths, mayStartDaemon });
  });

  it('are only the given socket, if there is one', () => {
    expect(socketCandidates(parseUri('qemu:///session?socket=/tmp/s'), user)).toEqual({
      paths: ['/tmp/s'],
      mayStartDaemon: false,
    });
  });
});
