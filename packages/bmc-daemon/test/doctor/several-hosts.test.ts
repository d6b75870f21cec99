/** Examines several hosts at the same time, one of which hangs. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../../../libvirt/test/harness/network-libvirtd.js';
import { startRelay, type Relay } from '../../../libvirt/test/harness/relay.js';
import { findingsAbout, doctor } from './doctor.js';

let libvirtd: NetworkLibvirtd;
let relay: Relay;
beforeAll(async () => {
  libvirtd = await startNetworkLibvirtd({ driver: 'test' });
  relay = await startRelay(libvirtd.tlsPort);
});
afterAll(async () => {
  await relay.stop();
  await libvirtd.stop();
});

const tls = (port: number, pkipath = libvirtd.pkipath): string =>
  `test+tls://127.0.0.1:${port}/default?pkipath=${pkipath}`;

const examine = (hosts: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  doctor(args, { env: { EMULATOR_LIBVIRT_URI: JSON.stringify(hosts) } });

describe('several hosts', () => {
  it('are examined together: a host that hangs is one finding, and hides no other', async () => {
    relay.stall();
    const report = await examine(
      {
        good: tls(libvirtd.tlsPort),
        hung: tls(relay.port),
        refused: 'qemu+tcp://127.0.0.1:1/system',
        unnamed: 'qemu+ssh://host.invalid/system',
      },
      '--timeout',
      '20',
    );
    relay.resume();
    expect(report.code).toBe(1);
    expect(report.hosts.map(({ name, libvirt }) => [name, libvirt === null])).toEqual([
      ['good', false],
      ['hung', true],
      ['refused', true],
      ['unnamed', true],
    ]);
    const findingsOf = (name: string) => report.findings.filter(({ host }) => host === name);
    expect(findingsOf('good')).toEqual([]);
    expect(findingsOf('hung').map(({ message }) => message)).toEqual([
      'libvirt did not answer within 20 s, so requests for its machines get 503 after a wait.',
    ]);
    expect(findingsOf('refused')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        subject: 'network',
        message: 'No service listens at port 1 of the host, so the daemon answers 503 for its machines.',
        fix:
          `ssh -t 127.0.0.1 'sudo sh -c "systemctl stop virtproxyd && systemctl enable --now virtproxyd-tcp.socket" || ` +
          `sudo sh -c "systemctl stop libvirtd && systemctl enable --now libvirtd-tcp.socket"'`,
      }),
      expect.objectContaining({
        severity: 'warning',
        subject: 'uri',
        message:
          'The connection has no encryption, so everyone in the network can control the machines. ' +
          'Replace qemu+tcp://127.0.0.1:1/system by qemu+tls://127.0.0.1/system.',
        fix: 'printenv EMULATOR_LIBVIRT_URI',
      }),
    ]);
    expect(findingsOf('unnamed')).toEqual([
      expect.objectContaining({
        subject: 'name',
        message: 'The name of the host has no address, so the daemon answers 503 for its machines.',
      }),
    ]);
  });

  it('are not examined if their list has a fault, which the check of the settings reports', async () => {
    const report = await examine({ a: tls(libvirtd.tlsPort), b: 'esx://host/' });
    expect(findingsAbout(report, 'settings')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: expect.stringContaining("EMULATOR_LIBVIRT_URI['b'] cannot"),
      }),
    ]);
    expect(report.hosts).toEqual([]);
  });
});

describe('a host behind TLS', () => {
  it('has a finding if a certificate file is missing', async () => {
    const report = await examine({ a: tls(libvirtd.tlsPort, '/nonexistent/pki') });
    expect(report.findings.filter(({ host }) => host === 'a')).toEqual([
      expect.objectContaining({
        subject: 'certificate',
        message:
          'The certificate file /nonexistent/pki/cacert.pem for the host is missing, so the daemon answers 503 for its machines.',
        fix: expect.stringMatching(/install -D -m 644 -o \S+ CACERT \/nonexistent\/pki\/cacert\.pem$/),
      }),
    ]);
  });

  it('is a problem if its certificate is for another address than that of the URI', async () => {
    const uri = tls(libvirtd.tlsPort).replace('127.0.0.1', '127.0.0.2');
    const report = await examine({ a: uri });
    expect(report.findings.filter(({ host }) => host === 'a')).toEqual([
      expect.objectContaining({ severity: 'problem' }),
    ]);
  });

  it('is a warning if the URI does not verify it', async () => {
    const report = await doctor(['--libvirt-uri', `${tls(libvirtd.tlsPort)}&no_verify=1`]);
    expect(report.findings.filter(({ host }) => host !== null)).toEqual([
      expect.objectContaining({
        severity: 'warning',
        fix: `bmc-daemon --libvirt-uri '${tls(libvirtd.tlsPort)}'`,
        message: 'The URI does not verify the host (no_verify), so another host can take its place.',
      }),
    ]);
    expect(report.hosts[0]?.libvirt).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
