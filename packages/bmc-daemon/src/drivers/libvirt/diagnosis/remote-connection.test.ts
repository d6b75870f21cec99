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

describe('the finding about a host behind ssh', () => {
  it('has a command that adds the ssh user to the group libvirt, if polkit on the host rejects this user', () => {
    expect(remoteConnectionFinding(polkit, person)).toEqual({
      severity: 'problem',
      subject: 'polkit',
      message: 'polkit on the host does not let the ssh user use libvirt, so the daemon answers 503 for its machines.',
      fix: "ssh -t bmc@kvm-1 'sudo usermod -aG libvirt bmc'",
    });
  });

  it('has a command that enables the socket of libvirt, if virt-ssh-helper cannot find the socket', () => {
    expect(remoteConnectionFinding(stopped, person)).toMatchObject({
      subject: 'socket',
      fix: "ssh -t bmc@kvm-1 'sudo systemctl enable --now virtqemud.socket || sudo systemctl enable --now libvirtd.socket'",
    });
  });

  it.each([
    'ssh ended with exit code 127: sh: 1: exec: nc: not found',
    'ssh ended with exit code 127: sh: 1: exec: virt-ssh-helper: not found',
  ])('has a command that installs a program for the connection to the socket, if there is none (%s)', (text) => {
    expect(remoteConnectionFinding(text, person)).toMatchObject({
      subject: 'ssh',
      fix:
        "ssh -t bmc@kvm-1 'if command -v apt-get; then sudo apt-get install libvirt-daemon netcat-openbsd; " +
        'elif command -v dnf; then sudo dnf install libvirt-daemon; ' +
        'elif command -v zypper; then sudo zypper install libvirt-daemon; ' +
        "else sudo pacman -S libvirt openbsd-netcat; fi'",
    });
  });
});

describe('the finding about a host whose port is closed', () => {
  it.each([
    ['qemu+ssh://kvm-1/system', 'ssh: connect to host kvm-1 port 22: Connection refused', 22, 'ssh -v kvm-1 true'],
    // ssh reads the port from its configuration.
    ['qemu+ssh://kvm-1/system', 'ssh: connect to host kvm-1 port 2022: Connection refused', 2022, 'ssh -v kvm-1 true'],
    ['qemu+ssh://kvm-1:23/system', 'connect ECONNREFUSED', 23, 'ssh -v -p 23 kvm-1 true'],
    ['qemu+tls://kvm-1/system', 'connect ECONNREFUSED 192.0.2.1:16514', 16_514, 'virtproxyd-tls.socket'],
    ['qemu+tcp://kvm-1/system', 'connect ECONNREFUSED', 16_509, 'virtproxyd-tcp.socket'],
  ])('names the port, and has a command that tests ssh or opens the port (%s, %s)', (address, text, port, command) => {
    const host = examinedHost(address, { uid: 1000, name: 'ada' }, 1000);
    expect(remoteConnectionFinding(text, host)).toMatchObject({
      subject: 'network',
      message: `No service listens at port ${port} of the host, so the daemon answers 503 for its machines.`,
      fix: expect.stringContaining(command) as unknown,
    });
  });
});

describe('the ssh options of a URI', () => {
  it('are in each command', () => {
    const host = examinedHost(`${uri}?known_hosts=/k/hosts&keyfile=/k/id`, { uid: 1000, name: 'ada' }, 1000);
    const fixOf = (text: string) => remoteConnectionFinding(text, host)?.fix;
    const destination = '-o UserKnownHostsFile=/k/hosts -i /k/id bmc@kvm-1';
    expect(fixOf('WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!')).toBe(
      `ssh-keygen -R kvm-1 -f /k/hosts && ssh ${destination} true`,
    );
    expect(fixOf(hostKey)).toBe(
      'ssh -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=/k/hosts -i /k/id bmc@kvm-1 true',
    );
    expect(fixOf('Permission denied (publickey).')).toBe(`ssh-copy-id ${destination}`);
    expect(host.virsh('pool-start', 'a b')).toBe(
      `ssh ${destination} 'virsh --connect qemu:///system pool-start '\\''a b'\\'''`,
    );
  });

  it('include a key that does not exist, which the suggested command creates', () => {
    const host = examinedHost(`${uri}?keyfile=/k/id`, { uid: 1000, name: 'ada' }, 1000);
    const text =
      'ssh ended with exit code 255: Warning: Identity file /k/id not accessible: No such file or directory. ' +
      'bmc@kvm-1: Permission denied (publickey).';
    expect(remoteConnectionFinding(text, host)).toEqual({
      severity: 'problem',
      subject: 'ssh',
      message: 'The private key of the URI does not exist, so the daemon answers 503 for its machines.',
      fix: "ssh-keygen -t ed25519 -N '' -f /k/id && ssh-copy-id -i /k/id bmc@kvm-1",
    });
  });
});

describe('the finding about a certificate file of a host with TLS', () => {
  const host = examinedHost('qemu+tls://kvm-1/system?pkipath=/pki', { uid: 1000, name: 'ada' }, 1000);

  it('has a command that permits the account to read the file, if the account cannot read it', () => {
    const text = "reading /pki/clientkey.pem: EACCES: permission denied, open '/pki/clientkey.pem'";
    expect(remoteConnectionFinding(text, host)).toEqual({
      severity: 'problem',
      subject: 'certificate',
      message: 'The account ada cannot read /pki/clientkey.pem, so the daemon answers 503 for its machines.',
      fix: expect.stringMatching(/sudo setfacl -m u:ada:r \/pki\/clientkey\.pem$/),
    });
  });

  it.each([
    ['parameter "pkipath": there is no /pki/clientkey.pem', '600', 'CLIENTKEY', '/pki/clientkey.pem'],
    [
      'no certificate authority: there is neither /home/ada/.pki/libvirt/cacert.pem nor /etc/pki/CA/cacert.pem',
      ...['644', 'CACERT', '/etc/pki/CA/cacert.pem'],
    ],
  ])('has a command that installs the file, if it is missing (%s)', (text, mode, source, file) => {
    expect(remoteConnectionFinding(text, host)).toEqual({
      severity: 'problem',
      subject: 'certificate',
      message: `The certificate file ${file} for the host is missing, so the daemon answers 503 for its machines.`,
      fix: `sudo install -D -m ${mode} -o ada ${source} ${file}`,
    });
  });
});

describe('the finding about the certificate of a host with TLS', () => {
  const account = { uid: 1000, name: 'ada' };
  const fixOf = (text: string, to = 'qemu+tls://kvm-1/system?pkipath=/pki') =>
    remoteConnectionFinding(text, examinedHost(to, account, 1000))?.fix;
  const shown = '</dev/null | openssl x509 -noout -subject -issuer -dates -ext subjectAltName';

  it.each([
    'certificate has expired',
    'certificate is not yet valid',
    "Hostname/IP does not match certificate's altnames: Host: kvm-1. is not in the cert's altnames: DNS:kvm-9",
  ])('has a command that shows the certificate, if it is not valid (%s)', (text) => {
    expect(fixOf(text)).toBe(`openssl s_client -connect kvm-1:16514 ${shown}`);
    expect(fixOf(text, 'qemu+tls://[fd00::1]:16515/system')).toBe(
      `openssl s_client -connect '[fd00::1]:16515' ${shown}`,
    );
  });

  it.each(['unable to verify the first certificate', 'self-signed certificate in certificate chain'])(
    'has a command that copies the authority to this account, if the account does not have it (%s)',
    (text) => {
      expect(fixOf(text)).toBe('ssh kvm-1 cat /etc/pki/CA/cacert.pem | sudo tee -a /pki/cacert.pem');
    },
  );

  it.each([
    "libvirtd closed the connection, perhaps because it does not accept this client's certificate",
    'libvirtd does not accept the certificate of this client',
    'the TLS handshake failed: tlsv1 alert unknown ca',
  ])('names the certificate of this account, if libvirtd rejects that certificate (%s)', (text) => {
    expect(remoteConnectionFinding(text, examinedHost('qemu+tls://root@kvm-1/system', account, 1000))).toMatchObject({
      message:
        'libvirtd on the host does not accept the certificate of this account, so the daemon answers 503 for its machines.',
      fix: "ssh -t kvm-1 'sudo journalctl -n 50 -u libvirtd -u virtproxyd'",
    });
  });
});

describe('the finding about a host with TCP that requires a password', () => {
  it('has a command that enables TLS, because the daemon sends a password only over TLS', () => {
    const host = examinedHost('qemu+tcp://kvm-1/system', { uid: 1000, name: 'ada' }, 1000);
    const text = 'libvirtd wants a password, which is not safe over tcp; it offers SCRAM-SHA-256';
    expect(remoteConnectionFinding(text, host)).toMatchObject({
      message:
        'libvirtd wants a password, which this account sends only over TLS, so the daemon answers 503 for its machines.',
      fix: expect.stringContaining('systemctl enable --now libvirtd-tls.socket'),
    });
  });
});

describe('the command for another host', () => {
  it('runs as the account of the service, which has the keys', () => {
    const fixOf = (text: string) => remoteConnectionFinding(text, service)?.fix;
    expect(fixOf(hostKey)).toBe('sudo -u bmc-daemon ssh -o StrictHostKeyChecking=accept-new bmc@kvm-1 true');
    expect(fixOf('Permission denied (publickey).')).toBe('sudo -u bmc-daemon ssh-copy-id bmc@kvm-1');
    expect(fixOf('WARNING: UNPROTECTED PRIVATE KEY FILE!')).toBe("sudo -u bmc-daemon sh -c 'chmod 600 ~/.ssh/id_*'");
    expect(fixOf(polkit)).toBe("sudo -u bmc-daemon ssh -t bmc@kvm-1 'sudo usermod -aG libvirt bmc'");
    expect(service.virsh('pool-list')).toBe(`sudo -u bmc-daemon virsh --connect ${uri} pool-list`);
  });

  it('has no sudo before ssh if the service runs as the account of a person', () => {
    expect(person.virsh('pool-list')).toBe(`virsh --connect ${uri} pool-list`);
    expect(remoteConnectionFinding(hostKey, person)?.fix).toBe(
      'ssh -o StrictHostKeyChecking=accept-new bmc@kvm-1 true',
    );
  });
});
