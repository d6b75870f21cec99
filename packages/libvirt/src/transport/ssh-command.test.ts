import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { parseUri } from '../uri.js';
import { sshCommand, sshTunnelCommand, type TunnelTarget } from './ssh-command.js';

const always = [
  ...['-T', '-e', 'none', '-o', 'BatchMode=yes', '-o', 'ControlMaster=no'],
  // Without ConnectTimeout, ssh waits forever for a silent host if the process that started ssh is killed.
  ...['-o', 'ConnectTimeout=60'],
];
const netcatOf = (program: string, socket: string): string =>
  `if '${program}' -q 2>&1 | grep "requires an argument" >/dev/null 2>&1; then exec '${program}' -q0 -U '${socket}'; fi; ` +
  `exec '${program}' -U '${socket}'`;

/** Returns the words of the command that the shell of the remote host runs. */
function remoteWords(uri: string): readonly string[] {
  const command = sshCommand(parseUri(uri)).args.at(-1) ?? '';
  // A shell splits the command, as on the remote host.
  return execFileSync('/bin/sh', ['-c', `set -- ${command}; printf '%s\\0' "$@"`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);
}

describe('the ssh command', () => {
  it.each([
    ['qemu+ssh://host/system', 'ssh', ['--', 'host']],
    ['qemu+ssh:///system', 'ssh', ['--', 'localhost']],
    ['qemu+ssh://root@host:2222/system', 'ssh', ['-p', '2222', '-l', 'root', '--', 'host']],
    ['qemu+ssh://[2001:db8::1]:22/system', 'ssh', ['-p', '22', '--', '2001:db8::1']],
    [
      'qemu+ssh://root@192.0.2.1/system?&no_verify=1&no_tty=1',
      'ssh',
      ['-l', 'root', '-o', 'StrictHostKeyChecking=accept-new', '--', '192.0.2.1'],
    ],
    ['qemu+ssh://h/system?command=/opt/ssh&keyfile=/k%20ey', '/opt/ssh', ['-i', '/k ey', '--', 'h']],
    ['qemu+ssh://h/system?known_hosts=/a%25b', 'ssh', ['-o', 'UserKnownHostsFile="/a%%b"', '--', 'h']],
    [
      `qemu+ssh://h/system?known_hosts=${encodeURIComponent('/a "b" c\\')}`,
      'ssh',
      ['-o', 'UserKnownHostsFile="/a \\"b\\" c\\\\"', '--', 'h'],
    ],
    ['qemu+ssh://h/system?known_hosts_verify=normal', 'ssh', ['-o', 'StrictHostKeyChecking=yes', '--', 'h']],
    ['qemu+ssh://h/system?known_hosts_verify=auto', 'ssh', ['-o', 'StrictHostKeyChecking=accept-new', '--', 'h']],
    ['qemu+ssh://h/system?known_hosts_verify=ignore', 'ssh', ['-o', 'StrictHostKeyChecking=no', '--', 'h']],
  ])('for %s has the parameters of the URI', (uri, program, args) => {
    const command = sshCommand(parseUri(uri));
    expect([command.program, command.args.slice(0, -1)]).toEqual([program, [...always, ...args]]);
  });

  it.each([
    [
      'qemu+ssh://h/system',
      `if command -v virt-ssh-helper >/dev/null 2>&1; then exec virt-ssh-helper 'qemu:///system'; fi; ` +
        netcatOf('nc', '/var/run/libvirt/libvirt-sock'),
    ],
    ['qemu+ssh://h/system?proxy=native', "exec virt-ssh-helper 'qemu:///system'"],
    ['qemu+ssh://h/session?proxy=native', "exec virt-ssh-helper 'qemu:///session'"],
    ['qemu+ssh://h/system?proxy=netcat', netcatOf('nc', '/var/run/libvirt/libvirt-sock')],
    ['qemu+ssh://h/system?mode=direct', netcatOf('nc', '/var/run/libvirt/virtqemud-sock')],
    ['qemu+ssh://h/system?mode=legacy', netcatOf('nc', '/var/run/libvirt/libvirt-sock')],
    ['qemu+ssh://h/system?netcat=/opt/nc', netcatOf('/opt/nc', '/var/run/libvirt/libvirt-sock')],
    ['qemu+ssh://h/session?socket=/s', netcatOf('nc', '/s')],
    // `;` separates the parameters of a URI, so `reboot` is another parameter, which libvirtd gets.
    ["qemu+ssh://h/system?socket=/it's;reboot", netcatOf('nc', "/it'\\''s")],
  ])('for %s runs the expected shell script on the remote host', (uri, script) => {
    expect(remoteWords(uri)).toEqual(['sh', '-c', script]);
  });
});

describe('the ssh command for another server of the remote host', () => {
  const args = (uri: string, target: TunnelTarget) => sshTunnelCommand(parseUri(uri), target).args.slice(always.length);

  it('connects to a port with option -W of ssh', () => {
    expect(args('qemu+ssh://host/system', { host: '127.0.0.1', port: 5900 })).toEqual([
      ...['-W', '127.0.0.1:5900', '--', 'host'],
    ]);
    expect(args('qemu+ssh://host/system', { host: '::1', port: 5900 })).toContain('[::1]:5900');
  });

  it('connects to a unix socket with netcat, and quotes the special characters of its path', () => {
    const path = "/run/it's a $(socket)";
    const command = args('qemu+ssh://host/system?netcat=/opt/nc', { path }).at(-1) ?? '';
    expect(command).toContain('/opt/nc');
    // A shell splits the command, as on the remote host.
    const words = execFileSync('/bin/sh', ['-c', `set -- ${command}; printf '%s\\0' "$@"`], { encoding: 'utf8' });
    expect(words.split('\0')[2]).toContain(`-U '/run/it'\\''s a $(socket)'`);
  });
});
