import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { failureOf, until } from '../../test/fake/until.js';
import { createAuthority, type Authority, type CertificateFiles } from '../../test/harness/pki.js';
import { parseUri } from '../uri.js';
import { openTls } from './tls.js';
import type { Transport } from './transport.js';

// The servers of these tests replace libvirtd, which does not have these faults.
let dir: string;
let authority: Authority;
let files: CertificateFiles;
let pkipath: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rackless-tls-'));
  authority = await createAuthority(join(dir, 'authority'));
  files = await authority.server(['DNS:localhost', 'IP:127.0.0.1']);
  pkipath = await authority.clientFolder();
});
afterAll(() => rm(dir, { recursive: true }));

let server: Server | undefined;
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server?.close(resolve));
});

/** Starts a server that is closed after the test. Returns its port. */
async function listen(started: Server): Promise<number> {
  server = started;
  started.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  // A TCP server has an address of this form.
  return (started.address() as AddressInfo).port;
}

/** Starts a TLS server that calls `serve` for each client. Returns its port. */
async function listenTls(serve: (socket: TLSSocket) => void): Promise<number> {
  const [cert, key] = [await readFile(files.cert), await readFile(files.key)];
  const started = createServer({ cert, key });
  started.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  return await listen(started);
}

/** A transport, the text that it received, and whether it was closed. */
interface Opened {
  readonly transport: Transport;
  readonly received: () => string;
  readonly closed: () => boolean;
}

/** Opens a transport with the client certificate in `pkipath`. @throws what `openTls` throws. */
async function open(port: number, more = '', host = 'localhost', limitMs = 60_000): Promise<Opened> {
  const chunks: Buffer[] = [];
  let isClosed = false;
  const uri = parseUri(`qemu+tls://${host}:${port}/system?pkipath=${pkipath}${more}`);
  const transport = await openTls(uri)(
    {
      data: (chunk) => chunks.push(Buffer.from(chunk)),
      closed: () => {
        isClosed = true;
      },
    },
    AbortSignal.timeout(limitMs),
  );
  return { transport, received: () => Buffer.concat(chunks).toString(), closed: () => isClosed };
}

describe('a TLS transport', () => {
  it('opens at the confirmation byte of the server, and forwards only the bytes after it', async () => {
    const port = await listenTls((socket) => socket.end('\u0001rest'));
    const { received, closed } = await open(port);
    await until('the end', closed);
    expect(received()).toBe('rest');
  });

  it('sends the host of the URI in SNI if it is a name, but not if it is an IP address', async () => {
    const names: unknown[] = [];
    const port = await listenTls((socket) => {
      names.push(socket.servername);
      socket.write('\u0001');
    });
    (await open(port)).transport.destroy();
    (await open(port, '', '127.0.0.1')).transport.destroy();
    expect(names).toEqual(['localhost', false]);
  });

  it.each([
    ['NORMAL:-VERS-TLS1.3', 'TLSv1.2'],
    ['NORMAL:-VERS-ALL:+VERS-TLS1.3', 'TLSv1.3'],
  ])('with the priority %s uses %s', async (priority, version) => {
    let used: string | null = null;
    const port = await listenTls((socket) => {
      used = socket.getProtocol();
      socket.write('\u0001');
    });
    (await open(port, `&tls_priority=${encodeURIComponent(priority)}`)).transport.destroy();
    expect(used).toBe(version);
  });

  it.each([
    [
      'refuses the client',
      (socket: TLSSocket) => socket.end('\u0000'),
      'does not accept the certificate of this client',
    ],
    ['closes the connection', (socket: TLSSocket) => socket.end(), 'libvirtd closed the connection'],
    [
      'resets the connection',
      () => [...sockets].forEach((socket) => socket.resetAndDestroy()),
      'libvirtd closed the connection',
    ],
  ])('fails if the server %s instead of sending its confirmation', async (_, serve, why) => {
    const port = await listenTls(serve);
    expect(String(await failureOf(open(port)))).toContain(why);
    await until('the end of the connection', () => sockets.size === 0);
  });

  it('waits for the confirmation until the signal aborts, then closes the connection', async () => {
    const port = await listenTls(() => undefined);
    expect(String(await failureOf(open(port, '', 'localhost', 200)))).toContain('aborted due to timeout');
    await until('the end of the connection', () => sockets.size === 0);
  });

  it.each([
    ['sends garbage', (socket: Socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n'), /the TLS handshake failed: [\w ]+$/],
    [
      'sends half a handshake',
      (socket: Socket) => socket.end(Buffer.from('160303007a0200', 'hex')),
      /disconnected|ECONNRESET/,
    ],
    [
      'announces a huge record',
      (socket: Socket) => socket.write(Buffer.from('160303ffff', 'hex')),
      /the TLS handshake failed: [\w ]+$/,
    ],
  ])('fails if the server %s', async (_, serve, why) => {
    const port = await listen(createTcpServer((socket) => void socket.once('data', () => serve(socket))));
    expect(String(await failureOf(open(port)))).toMatch(why);
    await until('the end of the connection', () => sockets.size === 0);
  });

  it('fails with the path of a certificate file that is missing in the folder of pkipath', async () => {
    const port = await listenTls(() => undefined);
    const folder = await authority.clientFolder();
    await rm(join(folder, 'clientcert.pem'));
    const uri = parseUri(`qemu+tls://localhost:${port}/system?pkipath=${folder}`);
    const handlers = { data: () => undefined, closed: () => undefined };
    const opening = openTls(uri)(handlers, AbortSignal.timeout(240_000));
    expect(String(await failureOf(opening))).toContain(`parameter "pkipath": there is no ${folder}/clientcert.pem`);
  });
});
