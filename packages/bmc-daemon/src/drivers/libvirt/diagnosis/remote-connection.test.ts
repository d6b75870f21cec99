import { describe, expect, it } from '@jest/globals';
import { examinedHost } from './examined-host.js';
import { remoteConnectionFinding } from './remote-connection.js';

const uri = 'qemu+ssh://bmc@kvm-1/system';
const person = examinedHost(uri, { uid: 1000, name: 'ada', shell: '/bin/bash' }, 1000);
const service = examinedHost(uri, { uid: 999, name: 'bmc-daemon', shell: '/usr/sbin/nologin' }, 1000);

// Texts of OpenSSH 9.2 and libvirt 9.0.
const polkit = "authentication unavailable: no polkit agent available to authenticate action 'org.libvirt.unix.manage'";
const stopped =
  "ssh ended with exit code 1: virt-ssh-helper: cannot connect to '/var/run/libvirt/libvirt-sock': " +
  "Failed to connect socket to '/var/run/libvirt/libvirt-sock': No such file or directory";
const hostKey = 'ssh ended with exit code 255: Host key verification failed.';

describe('a host behind ssh', () => {
  it('needs the group libvirt if its polkit rejects the account, not a password', () => {
    expect(remoteConnectionFinding(polkit, person)).toEqual({
      severity: 'problem',
      subject: 'polkit',
      message: 'polkit on the host does not let the ssh user use libvirt, so the daemon answers 503 for its machines.',
      fix: "ssh bmc@kvm-1 'sudo usermod -aG libvirt bmc'",
    });
  });

  it('needs the socket of libvirt if virt-ssh-helper cannot find it', () => {
    expect(remoteConnectionFinding(stopped, person)).toMatchObject({
      subject: 'socket',
      fix: "ssh bmc@kvm-1 'sudo systemctl enable --now libvirtd.socket'",
    });
  });

  it.each([
    'ssh ended with exit code 127: sh: 1: exec: nc: not found',
    'ssh ended with exit code 127: sh: 1: exec: virt-ssh-helper: not found',
  ])('without a program that connects to the socket needs one (%s)', (text) => {
    expect(remoteConnectionFinding(text, person)).toMatchObject({
      subject: 'ssh',
      fix: "ssh bmc@kvm-1 'sudo apt-get install libvirt-daemon netcat-openbsd'",
    });
  });
});

describe('the command for another host', () => {
  it('runs as the account of the service, which has the keys', () => {
    const fixOf = (text: string) => remoteConnectionFinding(text, service)?.fix;
    expect(fixOf(hostKey)).toBe('sudo -u bmc-daemon ssh -o StrictHostKeyChecking=accept-new bmc@kvm-1 true');
    expect(fixOf('Permission denied (publickey).')).toBe('sudo -u bmc-daemon ssh-copy-id bmc@kvm-1');
    expect(fixOf('WARNING: UNPROTECTED PRIVATE KEY FILE!')).toBe("sudo -u bmc-daemon sh -c 'chmod 600 ~/.ssh/id_*'");
    expect(fixOf(polkit)).toBe("sudo -u bmc-daemon ssh bmc@kvm-1 'sudo usermod -aG libvirt bmc'");
    expect(service.virsh('pool-list')).toBe(`sudo -u bmc-daemon virsh --connect ${uri} pool-list`);
  });

  it('needs no sudo for the account of a person', () => {
    expect(person.virsh('pool-list')).toBe(`virsh --connect ${uri} pool-list`);
    expect(remoteConnectionFinding(hostKey, person)?.fix).toBe(
      'ssh -o StrictHostKeyChecking=accept-new bmc@kvm-1 true',
    );
  });
});
