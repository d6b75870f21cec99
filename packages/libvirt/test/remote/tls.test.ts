import { buffer } from 'node:stream/consumers';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { mkdir, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainEventType, Hypervisor } from '../../src/index.js';
import { failureOf, until } from '../fake/until.js';
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../harness/network-libvirtd.js';
import { createAuthority } from '../harness/pki.js';
import { startRelay, type Relay } from '../harness/relay.js';

let host: NetworkLibvirtd;
beforeAll(async () => {
  host = await startNetworkLibvirtd({ driver: 'qemu' });
});
afterAll(() => host.stop());

const patient = { callTimeoutMs: 240_000, workTimeoutMs: 240_000, connectTimeoutMs: 240_000 };

let hypervisor: Hypervisor | undefined;
let relay: Relay | undefined;
afterEach(async () => {
  await hypervisor?.close();
  await relay?.stop();
});

/** Returns a URI of a transport: `tls` or `tcp`. */
function uriOf(transport: 'tls' | 'tcp', more = '', port?: number, name = 'localhost'): string {
  const address = `${name}:${port ?? (transport === 'tls' ? host.tlsPort : host.tcpPort)}`;
  return `test+${transport}://${address}/default?${transport === 'tls' ? `pkipath=${host.pkipath}` : ''}${more}`;
}

describe.each(['tls', 'tcp'] as const)('a connection over %s', (transport) => {
  it('has events, changes and streams', async () => {
    hypervisor = await Hypervisor.open(uriOf(transport), patient);
    const domain = await hypervisor.domainLookupByName('test');
    const events = hypervisor.events.iterate('lifecycle');
    await events.ready;
    await domain.suspend();
    expect((await events.next()).value).toMatchObject({ event: DomainEventType.SUSPENDED });
    await domain.resume();
    await hypervisor.close();

    hypervisor = await Hypervisor.open(uriOf(transport, '&name=qemu:///system'), patient);
    const path = join(host.daemon.dir, 'tmp', transport);
    await mkdir(path);
    const pool = await hypervisor.storagePoolCreateXml(
      `<pool type='dir'><name>${transport}</name><target><path>${path}</path></target></pool>`,
    );
    const bytes = Buffer.alloc(5_000_000, `libvirt over ${transport} `);
    const volume = await pool.storageVolCreateXml(
      `<volume><name>v</name><capacity>${bytes.length}</capacity><target><format type='raw'/></target></volume>`,
    );
    await pipeline(Readable.from([bytes]), await volume.upload());
    expect((await buffer(await volume.download())).equals(bytes)).toBe(true);
  });

  it.each(['end', 'reset'] as const)('that breaks (%s) is opened again, with its events', async (how) => {
    const target = transport === 'tls' ? host.tlsPort : host.tcpPort;
    relay = await startRelay(target);
    const options = { ...patient, backoff: { firstMs: 10, maxMs: 100 } };
    hypervisor = await Hypervisor.open(uriOf(transport, '', relay.port), options);
    const domain = await hypervisor.domainLookupByName('test');
    const seen: number[] = [];
    await hypervisor.events.on('lifecycle', ({ event }) => seen.push(event)).ready;
    const states: string[] = [];
    hypervisor.onStateChange((state) => states.push(state));
    relay.cut(how);
    await until('the reconnect', () => states.join() === 'connecting,connected', 240_000);
    await domain.suspend();
    await until('the event', () => seen.includes(DomainEventType.SUSPENDED), 240_000);
    await domain.resume();
  });

  it('that stalls is ended by keepalive, and opened again as soon as bytes flow', async () => {
    relay = await startRelay(transport === 'tls' ? host.tlsPort : host.tcpPort);
    hypervisor = await Hypervisor.open(uriOf(transport, '', relay.port), {
      ...patient,
      keepalive: { intervalMs: 2_000, count: 3 },
      backoff: { firstMs: 10, maxMs: 100 },
    });
    const states: string[] = [];
    hypervisor.onStateChange((state) => states.push(state));
    relay.stall();
    await until('the loss', () => states.length > 0, 240_000);
    expect(String(hypervisor.lastError)).toContain('libvirtd has been silent for');
    relay.resume();
    expect(await hypervisor.getType()).toBe('TEST');
  });

  it('to a server that never answers ends with the timeout of the attempt, or is aborted', async () => {
    relay = await startRelay(host.tlsPort);
    relay.stall();
    const uri = uriOf(transport, '', relay.port);
    expect(String(await failureOf(Hypervisor.open(uri, { connectTimeoutMs: 300 })))).toContain(
      'no answer within 300 ms',
    );
    const opening = Hypervisor.open(uri, { ...patient, signal: AbortSignal.timeout(50) });
    expect(await failureOf(opening)).toMatchObject({ code: 'CALL_ABORTED' });
  });

  it('names the reason if nothing listens', async () => {
    relay = await startRelay(host.tlsPort);
    await relay.stop();
    const error = await failureOf(Hypervisor.open(uriOf(transport, '', relay.port), patient));
    expect(error).toMatchObject({ code: 'NOT_CONNECTED' });
    expect(String(error)).toContain('ECONNREFUSED');
  });
});

describe('TLS', () => {
  it('verifies the name of the server, also an address', async () => {
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

  it('rejects a server of another authority, and a client that the server does not accept', async () => {
    const foreign = await createAuthority(join(host.pkipath, '..', 'foreign'));
    const folder = await foreign.clientFolder();
    const uri = (more: string): string => `test+tls://localhost:${host.tlsPort}/default?pkipath=${folder}${more}`;
    expect(String(await failureOf(Hypervisor.open(uri(''), patient)))).toContain(
      'unable to verify the first certificate',
    );
    // The client accepts the server, but not the other way round.
    expect(String(await failureOf(Hypervisor.open(uri('&no_verify=1'), patient)))).toMatch(
      /libvirtd closed the connection, perhaps because it does not accept this client's certificate|alert/,
    );
  });

  it('names a missing file of pkipath', async () => {
    const folder = await host.authority.clientFolder();
    await rm(join(folder, 'clientkey.pem'));
    const error = await failureOf(Hypervisor.open(`test+tls://localhost/default?pkipath=${folder}`, patient));
    expect(String(error)).toContain(`parameter "pkipath": there is no ${folder}/clientkey.pem`);
  });
});
