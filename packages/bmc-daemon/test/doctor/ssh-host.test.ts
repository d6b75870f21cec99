/** Examines a libvirt behind a real ssh server, with keys and host keys that are wrong. */
import { copyFile, rm, writeFile } from 'node:fs/promises';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Hypervisor } from '@rackless/libvirt';
import { describeWith } from '../../../libvirt/test/harness/installed.js';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { startSshd, type PrivateSshd } from '../../../libvirt/test/harness/sshd.js';
import { applyFix, doctor } from './doctor.js';

const describeSsh = describeWith('/usr/sbin/sshd');

let libvirtd: PrivateLibvirtd;
let sshd: PrivateSshd;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-daemon-ssh-'));
  if (!existsSync('/usr/sbin/sshd')) return;
  libvirtd = await startLibvirtd({ driver: 'test' });
  sshd = await startSshd(libvirtd);
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  if (!existsSync('/usr/sbin/sshd')) return;
  await libvirtd.stop();
  await sshd.stop();
});

const at = (name: string): string => path.join(folder, name);

const examine = async (parameters: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) => {
  const query = new URLSearchParams({ keyfile: sshd.keyfile, known_hosts: sshd.knownHosts, ...parameters });
  const uri = `test+ssh://root@127.0.0.1:${sshd.port}/default?${query.toString()}`;
  const report = await doctor(['--libvirt-uri', uri], { env });
  return { hosts: report.hosts, findings: report.findings.filter(({ host }) => host !== null) };
};

describeSsh('a host behind ssh', () => {
  it('has no finding if it accepts the key', async () => {
    const { hosts, findings } = await examine({});
    expect(findings).toEqual([]);
    expect(hosts).toEqual([expect.objectContaining({ name: '127.0.0.1', libvirt: expect.any(String) })]);
  });

  it('with an unknown host key is a problem', async () => {
    await writeFile(at('known_hosts'), '');
    const { findings } = await examine({ known_hosts: at('known_hosts') });
    expect(findings).toEqual([
      expect.objectContaining({
        severity: 'problem',
        subject: 'ssh',
        message: 'The ssh host key of the host is not in known_hosts, so the daemon answers 503 for its machines.',
        fix:
          `ssh -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=${at('known_hosts')} -p ${sshd.port} ` +
          `-i ${sshd.keyfile} root@127.0.0.1 true`,
      }),
    ]);
  });

  it('with another host key than the stored one is a problem', async () => {
    const other = 'AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    await writeFile(at('changed'), `[127.0.0.1]:${sshd.port} ssh-ed25519 ${other}\n`);
    const { findings } = await examine({ known_hosts: at('changed') });
    expect(findings).toEqual([
      expect.objectContaining({
        message:
          'The ssh host key of the host differs from the stored one, so the daemon answers 503 for its machines.',
        fix: expect.stringMatching(
          /^ssh-keygen -R '\[127\.0\.0\.1\]:\d+' -f \S+changed && ssh -o UserKnownHostsFile=\S+changed -p /,
        ),
      }),
    ]);
  });

  it('is a problem if it rejects the key', async () => {
    await copyFile(path.join(sshd.dir, 'host_key'), at('wrong'));
    const { findings } = await examine({ keyfile: at('wrong') });
    expect(findings).toEqual([
      expect.objectContaining({
        message: 'The host rejects the ssh keys of this account, so the daemon answers 503 for its machines.',
        fix: expect.stringMatching(/^ssh-copy-id -o \S+ -p \d+ -i \S+wrong root@127\.0\.0\.1$/),
      }),
    ]);
  });

  it('is a problem if the key does not exist, and the suggested command creates it', async () => {
    const { findings } = await examine({ keyfile: at('absent') });
    const [finding] = findings;
    expect(finding).toMatchObject({
      severity: 'problem',
      message: 'The private key of the URI does not exist, so the daemon answers 503 for its machines.',
      fix: expect.stringMatching(/ && ssh-copy-id -o \S+ -p \d+ -i \S+absent root@127\.0\.0\.1$/),
    });
    const [create = 'exit 1'] = finding?.fix?.split(' && ') ?? [];
    applyFix({ severity: 'note', host: null, subject: '', message: '', fix: create });
    expect(existsSync(at('absent.pub'))).toBe(true);
  });

  it('is a problem if other accounts can read the key', async () => {
    await copyFile(sshd.keyfile, at('open'));
    applyFix({ severity: 'note', host: null, subject: '', message: '', fix: `chmod 644 ${at('open')}` });
    const { findings } = await examine({ keyfile: at('open') });
    const [finding] = findings;
    expect(finding).toMatchObject({
      message: expect.stringContaining('because other accounts can read it'),
      fix: `chmod 600 ${at('open')}`,
    });
    if (finding !== undefined) applyFix(finding);
    expect((await examine({ keyfile: at('open') })).findings).toEqual([]);
  });

  it('is a warning if its pool is inactive, and the suggested command first creates the folder of the pool', async () => {
    // The test driver forgets its pools after the last connection, so this one stays open.
    const hypervisor = Hypervisor.connect(libvirtd.uri);
    try {
      const target = '<target><path>/var/lib/libvirt/images/idle</path></target>';
      await hypervisor.storagePoolDefineXml(`<pool type='dir'><name>idle</name>${target}</pool>`);
      const { findings } = await examine({}, { EMULATOR_STORAGE_POOL: 'idle' });
      expect(findings).toEqual([
        expect.objectContaining({
          severity: 'warning',
          subject: 'pool',
          // virsh would ignore the file of host keys in the URI, so the command runs virsh over ssh.
          fix: expect.stringMatching(
            /^ssh .* 'virsh --connect test:\/\/\/default pool-build idle' && .* pool-start idle' && .* pool-autostart idle'$/,
          ),
        }),
      ]);
    } finally {
      await hypervisor.close();
    }
  });

  it('without libvirt is a problem', async () => {
    const { findings } = await examine({ socket: '/nonexistent/libvirt-sock' });
    expect(findings).toEqual([
      expect.objectContaining({
        severity: 'problem',
        subject: 'socket',
        fix: expect.stringMatching(
          /^ssh -o \S+ -p \d+ -i \S+ root@127\.0\.0\.1 'systemctl enable --now virtqemud\.socket \|\| systemctl enable --now libvirtd\.socket'$/,
        ),
      }),
    ]);
  });
});
