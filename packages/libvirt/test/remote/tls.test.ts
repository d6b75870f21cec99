import { join } from 'node:path';
import { mkdir, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { failureOf } from '../fake/until.js';
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../harness/network-libvirtd.js';
import { createAuthority } from '../harness/pki.js';
import { startRelay, type Relay } from '../harness/relay.js';
import { expectEvent, expectLoss, expectReconnect, expectStreams, patient, persistent } from './remote-connection.js';

let host: NetworkLibvirtd;
beforeAll(async () => {
  host = await startNetworkLibvirtd({ driver: 'qemu' });
});
afterAll(() => host.stop());

let hypervisor: Hypervisor | undefined;
let relay: Relay | undefined;
afterEach(async () => {
  await hypervisor?.close();
  await relay?.stop();
});

/** Returns the URI of libvirtd's test driver. @param port default: libvirtd's port for the transport. */
function uriOf(transport: 'tls' | 'tcp', more = '', port?: number, name = 'localhost'): string {
  const address = `${name}:${port ?? (transport === 'tls' ? host.tlsPort : host.tcpPort)}`;
  return `test+${transport}://${address}/default?${transport === 'tls' ? `pkipath=${host.pkipath}` : ''}${more}`;
}

describe.each(['tls', 'tcp'] as const)('a connection over %s', (transport) => {
  it('delivers events, makes changes, and transfers streams', async () => {
    hypervisor = await Hypervisor.open(uriOf(transport), patient);
    await expectEvent(hypervisor);
    await hypervisor.close();

    // The parameter `name` selects the QEMU driver, because the test driver has no uploads.
    hypervisor = await Hypervisor.open(uriOf(transport, '&name=qemu:///system'), patient);
    const path = join(host.daemon.dir, 'tmp', transport);
    await mkdir(path);
    await expectStreams(hypervisor, path);
  });

  it('answers parallel calls', async () => {
    const opened = await Hypervisor.open(uriOf(transport), patient);
    hypervisor = opened;
    const types = await Promise.all(Array.from({ length: 50 }, () => opened.getType()));
    expect(new Set(types)).toEqual(new Set(['TEST']));
  });

  it.each(['end', 'reset'] as const)('is opened again, with its events, if it breaks (%s)', async (how) => {
    const target = transport === 'tls' ? host.tlsPort : host.tcpPort;
    relay = await startRelay(target);
    hypervisor = await Hypervisor.open(uriOf(transport, '', relay.port), persistent);
    await expectReconnect(hypervisor, relay, how);
  });

  it('is ended by keepalive if it stalls, and opened again when bytes flow again', async () => {
    relay = await startRelay(transport === 'tls' ? host.tlsPort : host.tcpPort);
    hypervisor = await Hypervisor.open(uriOf(transport, '', relay.port), {
      ...persistent,
      keepalive: { intervalMs: 2_000, count: 3 },
    });
    await expectLoss(hypervisor, relay);
    relay.resume();
    expect(await hypervisor.getType()).toBe('TEST');
  });

  it('fails at the timeout of the attempt, or at the abort of its signal, if the server never answers', async () => {
    relay = await startRelay(host.tlsPort);
    relay.stall();
    const uri = uriOf(transport, '', relay.port);
    expect(String(await failureOf(Hypervisor.open(uri, { connectTimeoutMs: 300 })))).toContain(
      'no answer within 300 ms',
    );
    const opening = Hypervisor.open(uri, { ...patient, signal: AbortSignal.timeout(50) });
    expect(await failureOf(opening)).toMatchObject({ code: 'CALL_ABORTED' });
  });

  it('reports the reason if nothing listens', async () => {
    relay = await startRelay(host.tlsPort);
    await relay.stop();
    const error = await failureOf(Hypervisor.open(uriOf(transport, '', relay.port), patient));
    expect(error).toMatchObject({ code: 'NOT_CONNECTED' });
    expect(String(error)).toContain('ECONNREFUSED');
  });
});

describe('TLS', () => {
  it('verifies the name or the address of the server, except with no_verify', async () => {
    hypervisor = await Hypervisor.open(uriOf('tls', '', undefined, '127.0.0.1'), patient);
    await hypervisor.close();
    const other = await startNetworkLibvirtd({ driver: 'test', names: ['DNS:elsewhere.example'] });
    try {
      const uri = (more: string): string =>
        `test+tls://localhost:${other.tlsPort}/default?pkipath=${other.pkipath}${more}`;
      expect(String(await failureOf(Hypervisor.open(uri(''), patient)))).toContain("not in the cert's altnames");
      hypervisor = await Hypervisor.open(uri('&no_verify=1'), patient);
      await hypervisor.close();
    } finally {
      await other.stop();
    }
  });

  it('fails if the certificate of the server or of the client comes from another authority', async () => {
    const foreign = await createAuthority(join(host.pkipath, '..', 'foreign'));
    const folder = await foreign.clientFolder();
    const uri = (more: string): string => `test+tls://localhost:${host.tlsPort}/default?pkipath=${folder}${more}`;
    expect(String(await failureOf(Hypervisor.open(uri(''), patient)))).toContain(
      'unable to verify the first certificate',
    );
    // The client accepts the server, but the server does not accept the client.
    expect(String(await failureOf(Hypervisor.open(uri('&no_verify=1'), patient)))).toMatch(
      /libvirtd closed the connection, perhaps because it does not accept this client's certificate|alert/,
    );
  });

  it('reports a missing file of pkipath', async () => {
    const folder = await host.authority.clientFolder();
    await rm(join(folder, 'clientkey.pem'));
    const error = await failureOf(Hypervisor.open(`test+tls://localhost/default?pkipath=${folder}`, patient));
    expect(String(error)).toContain(`parameter "pkipath": there is no ${folder}/clientkey.pem`);
  });
});
