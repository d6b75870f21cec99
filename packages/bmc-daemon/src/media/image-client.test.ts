import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { imageLimits } from '../../test/support/image-limits.js';
import { ImageError } from './image-error.js';
import { inspectImage, locateImage, openImage, type ImageServerLimits } from './image-client.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const limits: ImageServerLimits = { ...imageLimits, maxBytes: 1_000_000 };
const never = new AbortController().signal;
const servers: Server[] = [];
const rawServers: { readonly server: TcpServer; readonly sockets: Set<Socket> }[] = [];
let folder: string;
let tls: { key: Buffer; cert: Buffer; caFile: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-image-server-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
  ]);
  tls = { key: await readFile(key), cert: await readFile(cert), caFile: cert };
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  for (const { server, sockets } of rawServers.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(server: Server, scheme = 'http'): Promise<URL> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server is never a path.
  return new URL(`${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/images/boot.iso`);
}
const serve = (handler: Handler): Promise<URL> => listen(createServer(handler));
const serveTls = (handler: Handler): Promise<URL> => listen(createTlsServer(tls, handler), 'https');

/** Starts a TCP server, which calls `answer` as soon as a request arrives. Returns the URL of an image. */
async function serveRaw(answer: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('data', () => answer(socket));
  });
  rawServers.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/images/boot.iso`);
}

/** Sends the given bytes again and again, one write at a time, until the client is gone. */
function repeat(socket: Socket, bytes: string): void {
  const next = (): void => {
    if (socket.writable) socket.write(bytes, () => setTimeout(next, 1).unref());
  };
  next();
}

const image = (url: URL, more = {}): Parameters<typeof openImage>[0] => ({ url, verifyCertificate: true, ...more });
/** Returns the kind and the message of a rejection. Throws if the promise resolves, and for any other error. */
async function failure(promise: Promise<unknown>): Promise<{ kind: string; message: string }> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ImageError)) throw new Error(`expected an ImageError, got ${String(error)}`);
  return { kind: error.kind, message: error.message };
}
const read = async (url: URL, more = {}, bounds = limits, signal = never): Promise<string> =>
  (await buffer((await openImage(image(url, more), bounds, signal)).body)).toString();

describe('forbidden hosts', () => {
  const limitsWithHosts = (...allowed: string[]) => ({ ...limits, hosts: { allowed, ipFamily: null } });

  it('are rejected before a request, by address, by name and after a redirect', async () => {
    const seen: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      seen.push(request.url);
      response.end('image');
    });
    const named = new URL(url);
    named.hostname = 'localhost';
    expect((await failure(read(url, {}, limitsWithHosts('10.0.0.0/8')))).kind).toBe('mediaForbidden');
    expect((await failure(read(named, {}, limitsWithHosts('10.0.0.0/8')))).kind).toBe('mediaForbidden');
    expect(seen).toEqual([]);
    expect(await read(url, {}, limitsWithHosts('127.0.0.1'))).toBe('image');
    expect(await read(named, {}, limitsWithHosts('localhost'))).toBe('image');
    const redirecting = async (location: string) =>
      await serve((_request, response) => response.writeHead(302, { location }).end());
    const metadata = await redirecting('http://169.254.169.254/latest/meta-data/');
    expect(await failure(read(metadata))).toEqual({
      kind: 'mediaForbidden',
      message: 'reading an image from 169.254.169.254: the configuration allows no images from there',
    });
    // The list has the host of the first URL, but not that of the redirect.
    const elsewhere = await redirecting('http://[::1]:9/x.iso');
    expect((await failure(read(elsewhere, {}, limitsWithHosts('127.0.0.1')))).kind).toBe('mediaForbidden');
  });
});

describe('openImage', () => {
  it('returns the body and the validator', async () => {
    const url = await serve((request, response) => {
      response.writeHead(200, { etag: '"v1"', 'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT', 'content-length': 5 });
      response.end('bytes');
    });
    const { validator, body } = await openImage(image(url), limits, never);
    expect(validator).toEqual({ etag: '"v1"', lastModified: 'Mon, 01 Jan 2024 00:00:00 GMT', sizeBytes: 5 });
    expect((await buffer(body)).toString()).toBe('bytes');
  });

  it('follows redirects, and sends user name and password to the first origin only', async () => {
    const seen: (string | undefined)[] = [];
    const second = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end('image');
    });
    const first = await serve((request, response) => {
      seen.push(request.headers.authorization);
      const location = request.url === '/images/boot.iso' ? '/elsewhere.iso' : second.href;
      response.writeHead(302, { location }).end();
    });
    expect(await read(first, { userName: 'u', password: 'pä:ss' })).toBe('image');
    const basic = `Basic ${Buffer.from('u:pä:ss').toString('base64')}`;
    expect(seen).toEqual([basic, basic, undefined]);
  });

  it('rejects a compressed image', async () => {
    const asked: unknown[] = [];
    const url = await serve((request, response) => {
      asked.push(request.headers['accept-encoding']);
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('packed');
    });
    expect(await failure(read(url))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: the server sends it compressed`,
    });
    expect(await inspectImage(image(url), limits, never)).toBeNull();
    expect(asked).toEqual(['identity', 'identity']);
  });

  it('stops after five redirects', async () => {
    let requests = 0;
    const url = await serve((request, response) => {
      requests += 1;
      response.writeHead(301, { location: request.url }).end();
    });
    expect(await failure(read(url))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: more than 5 redirects`,
    });
    expect(requests).toBe(6);
  });

  it('rejects a redirect to a scheme other than http and https', async () => {
    const url = await serve((_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    expect(await failure(read(url))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: redirected to the scheme file:`,
    });
  });

  it.each([
    [401, 'mediaAuth'],
    [403, 'mediaAuth'],
    [404, 'mediaNotFound'],
    [410, 'mediaNotFound'],
    [500, 'mediaUnreachable'],
    [206, 'mediaUnreachable'],
  ])('translates status %d to the error %s, whose message hides the query', async (status, kind) => {
    const url = await serve((_request, response) => response.writeHead(status).end());
    const shown = url.href;
    url.search = '?token=secret';
    expect(await failure(read(url, { userName: 'u', password: 'secret' }))).toEqual({
      kind,
      message: `reading image ${shown}?******: the server answered ${status}`,
    });
  });

  it('reports a server that rejects the connection, with its address', async () => {
    const url = await serve(() => undefined);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    expect(await failure(read(url))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: connection refused`,
    });
  });

  it('rejects the name of a host that does not exist', async () => {
    const { kind } = await failure(read(new URL('http://image-server.invalid/boot.iso')));
    expect(kind).toBe('mediaUnreachable');
  });

  it('rejects a server that accepts the connection and stays silent', async () => {
    const url = await serve(() => undefined);
    expect(await failure(read(url, {}, { ...limits, idleTimeoutMs: 50 }))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: the server was silent for 0.05 s`,
    });
  });

  it('rejects a server that becomes silent within the image', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half');
    });
    // This limit is longer than the delays of a busy machine. With a shorter limit, the server could count as
    // silent before its first byte.
    expect(await failure(read(url, {}, { ...limits, idleTimeoutMs: 3_000 }))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: the server sent only 4 bytes in 3 s`,
    });
  });

  it('accepts a slow reader', async () => {
    const bytes = Buffer.alloc(8_000_000, 1);
    const url = await serve((_request, response) => response.end(bytes));
    // This limit is longer than the delays of a busy machine.
    const patient = { ...limits, idleTimeoutMs: 2_000, maxBytes: 10_000_000 };
    const { body } = await openImage(image(url), patient, never);
    // The test reads none of `body` until the download from a silent server has exceeded the limit. So the reader of
    // `body` has paused for longer than the limit, too.
    const silent = await serve(() => undefined);
    expect((await failure(read(silent, {}, patient))).message).toContain('silent for 2 s');
    expect((await buffer(body)).length).toBe(8_000_000);
  });

  it('fails when the connection breaks within the image', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => response.destroy());
    });
    expect((await failure(read(url))).kind).toBe('mediaUnreachable');
  });

  it('rejects an image above the limit before reading it', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(200, { 'content-length': 1_000_001 }).write('x'),
    );
    expect(await failure(read(url))).toEqual({
      kind: 'mediaTooLarge',
      message: `reading image ${url.href}: larger than the limit of 1000000 bytes`,
    });
  });

  it('stops at the limit if the server sends no size', async () => {
    const url = await serve((_request, response) => {
      response.write(Buffer.alloc(600_000));
      response.end(Buffer.alloc(600_000));
    });
    expect((await failure(read(url))).kind).toBe('mediaTooLarge');
  });

  it('ends when the caller aborts, before and within the response', async () => {
    const controller = new AbortController();
    const silent = await serve(() => controller.abort());
    expect((await failure(read(silent, {}, limits, controller.signal))).kind).toBe('aborted');

    const second = new AbortController();
    const half = await serve((_request, response) => response.writeHead(200, { 'content-length': 100 }).write('half'));
    const { body } = await openImage(image(half), limits, second.signal);
    body.once('data', () => second.abort());
    expect((await failure(buffer(body))).kind).toBe('aborted');
  });

  it('verifies the certificate unless the request disables it, and trusts the CA file and the certificates of the image', async () => {
    const url = await serveTls((_request, response) => response.end('image'));
    expect(await failure(read(url))).toEqual({
      kind: 'mediaTls',
      message:
        `reading image ${url.href}: the server's certificate or TLS is not acceptable ` +
        '(DEPTH_ZERO_SELF_SIGNED_CERT)',
    });
    expect(await read(url, { verifyCertificate: false })).toBe('image');
    // The certificate belongs to this image only: it is in the request, not in the settings.
    expect(await read(url, { authorities: [tls.cert.toString()] })).toBe('image');
    expect(await read(url, {}, { ...limits, caFile: tls.caFile })).toBe('image');
  });

  it('reports the path of a CA file that cannot be read', async () => {
    const caFile = join(folder, 'missing.pem');
    expect(await failure(read(new URL('https://127.0.0.1/x'), {}, { ...limits, caFile }))).toEqual({
      kind: 'mediaTls',
      message: `reading the certificate authorities of ${caFile}: ENOENT`,
    });
  });

  it('reports plain text on a TLS port as a TLS fault', async () => {
    const plain = await serve((_request, response) => response.end());
    const url = new URL(plain.href.replace('http:', 'https:'));
    expect((await failure(read(url))).kind).toBe('mediaTls');
  });
});

describe('a hostile server', () => {
  const quick = { ...limits, answerTimeoutMs: 200 };

  it('is rejected if it answers 101', async () => {
    const url = await serveRaw((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nbytes'),
    );
    const rejected = {
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: the server answered 101 to a request without Upgrade`,
    };
    expect(await failure(read(url))).toEqual(rejected);
    expect(await inspectImage(image(url), limits, never)).toBeNull();
    expect(await failure(locateImage(image(url), limits, never))).toEqual(rejected);
    const plain = await serveRaw((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    expect((await failure(read(plain))).message).toMatch(/answered 101$/);
  });

  it.each(['100 Continue', '103 Early Hints', '199 x'])('is rejected if it sends %s without end', async (status) => {
    const url = await serveRaw((socket) => repeat(socket, `HTTP/1.1 ${status}\r\n\r\n`));
    expect(await failure(read(url))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: the server sent more than 32 1xx answers`,
    });
  });

  it.each([
    ['sends the headers byte by byte', 'HTTP/1.1 200 OK\r\nX: ', 'x'],
    ['sends 1xx answers slowly', '', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['sends nothing', '', ''],
  ])('is rejected at the deadline of the response headers if it %s', async (_what, begin, rest) => {
    const url = await serveRaw((socket) => {
      socket.write(begin);
      // Sends less than the parser's limit for headers, and more often than the limit for silence.
      if (rest !== '') setInterval(() => socket.writable && socket.write(rest), 20).unref();
    });
    expect(await failure(read(url, {}, quick))).toEqual({
      kind: 'mediaUnreachable',
      message: `reading image ${url.href}: no complete response headers within 0.2 s`,
    });
  });

  it('gets no additional time for the response headers by a redirect', async () => {
    const second = await serveRaw(() => undefined);
    const first = await serve((_request, response) => response.writeHead(302, { location: second.href }).end());
    expect((await failure(read(first, {}, quick))).message).toBe(
      `reading image ${first.href}: no complete response headers within 0.2 s`,
    );
  });

  it('is rejected if it sends the image too slowly', async () => {
    const url = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
      setInterval(() => socket.writable && socket.write('x'), 20).unref();
    });
    const { kind, message } = await failure(read(url, {}, { ...limits, idleTimeoutMs: 1_000 }));
    expect(kind).toBe('mediaUnreachable');
    expect(message).toMatch(/: the server sent only \d+ bytes in 1 s$/);
  });

  it('is rejected if it does not speak HTTP', async () => {
    const url = await serveRaw((socket) => socket.end('\0\0\0\0'));
    expect((await failure(read(url))).kind).toBe('mediaUnreachable');
  });
});

describe('inspectImage', () => {
  it('returns the validator by HEAD', async () => {
    const methods: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      methods.push(request.method);
      response.writeHead(200, { etag: '"v1"', 'content-length': 5 }).end();
    });
    expect(await inspectImage(image(url), limits, never)).toEqual({ etag: '"v1"', lastModified: null, sizeBytes: 5 });
    expect(methods).toEqual(['HEAD']);
  });

  it('returns null if the server does not support HEAD', async () => {
    const url = await serve((_request, response) => response.writeHead(405).end());
    expect(await inspectImage(image(url), limits, never)).toBeNull();
  });
});
