import { execFile, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createServer as createTlsServer, type SecureVersion } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority, type Authority, type CertificateFiles } from '../../sample-upstream/certificates.js';
import type { Deployment, UpstreamTls } from '../../src/providers/deployment.js';
import { waitFor } from '../harness/wait.js';
import { deploymentAt, reloadNow, send, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer } from './scripted-server.js';

const closing = closingAfterEach();

let folder: string;
let authority: Authority;
let other: Authority;
let certificate: CertificateFiles;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-upstream-tls-'));
  authority = await createAuthority(folder, 'ours');
  other = await createAuthority(folder, 'other');
  certificate = await authority.issue('server');
});

afterAll(() => rmSync(folder, { recursive: true }));

interface HttpsOptions {
  readonly files?: CertificateFiles;
  readonly clientCa?: string;
  readonly answer?: RequestListener;
  readonly maxVersion?: SecureVersion;
}

/** Starts an HTTPS server. @returns also the number of handshakes, their server names, and the server's connections. */
async function startHttps({ files = certificate, clientCa, answer, maxVersion }: HttpsOptions = {}) {
  const counted = { handshakes: 0, resumed: 0, serverNames: [] as unknown[] };
  const sockets: Socket[] = [];
  const server = createServer(
    {
      cert: readFileSync(files.certFile),
      key: readFileSync(files.keyFile),
      ...(clientCa === undefined ? {} : { ca: readFileSync(clientCa), requestCert: true, rejectUnauthorized: true }),
      ...(maxVersion === undefined ? {} : { maxVersion }),
    },
    answer ?? ((request, response) => request.resume().once('end', () => response.end('{"ok":true}'))),
  );
  server.on('connection', (socket: Socket) => sockets.push(socket));
  server.on('secureConnection', (socket) => {
    counted.handshakes += 1;
    if (socket.isSessionReused()) counted.resumed += 1;
    counted.serverNames.push(socket.servername);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing({
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
  return { server, counted, sockets, port: (server.address() as AddressInfo).port };
}

function tlsOf(verify: UpstreamTls['verify'], client: CertificateFiles | null = null): Partial<Deployment> {
  return { tls: { verify, clientCertificate: client } };
}

function open(port: number, settings: Partial<Deployment>, host = '127.0.0.1', environment = {}) {
  const deployment = deploymentAt(`https://${host}:${port}/v1`, settings);
  const upstream = closing(upstreamFor([deployment], environment));
  return { deployment, upstream, sendToEnd: () => sendToEnd(upstream, deployment) };
}

/** Returns the cause in an error's message. */
function causeOf({ error }: { error?: Error | undefined }): string | undefined {
  return /Connection error\. (.*)\. Received Model Group=/s.exec(error?.message ?? '')?.[1];
}

describe('ssl_verify', () => {
  it('with a path trusts the certificates of that bundle, for a name and for an address', async () => {
    const { port, counted } = await startHttps();
    for (const host of ['127.0.0.1', 'localhost']) {
      expect((await open(port, tlsOf(authority.caFile), host).sendToEnd()).text).toBe('{"ok":true}');
    }
    // RFC 6066: an address is never a server name.
    expect(counted.serverNames).toEqual([false, 'localhost']);
  });

  it('with a path trusts no other authority, and the error names the bundle', async () => {
    const { port } = await startHttps();
    const bundle = join(folder, 'other-bundle.pem');
    copyFileSync(other.caFile, bundle);
    const sent = await open(port, tlsOf(bundle)).sendToEnd();
    expect([sent.error?.status, sent.error?.kind, sent.callbacks]).toEqual([500, 'tls', ['error']]);
    expect(causeOf(sent)).toBe(
      `The certificate of 127.0.0.1:${port} was not issued by any of the authorities of ${bundle} (ssl_verify) ` +
        `(UNABLE_TO_VERIFY_LEAF_SIGNATURE): add its authority to ${bundle}, or set ssl_verify to another bundle`,
    );
  });

  it('with a bundle of several authorities trusts each of them', async () => {
    const { port } = await startHttps();
    const bundle = join(folder, 'both.pem');
    writeFileSync(bundle, readFileSync(other.caFile, 'utf8') + readFileSync(authority.caFile, 'utf8'));
    expect((await open(port, tlsOf(bundle)).sendToEnd()).error).toBeUndefined();
  });

  it('true does not trust a private authority, and the error names the setting', async () => {
    const { port } = await startHttps();
    const sent = await open(port, tlsOf(true)).sendToEnd();
    expect(sent.error?.kind).toBe('tls');
    expect(causeOf(sent)).toBe(
      `The certificate of 127.0.0.1:${port} was not issued by any of the built-in authorities ` +
        '(UNABLE_TO_VERIFY_LEAF_SIGNATURE): set ssl_verify to the path of a CA bundle that contains its authority',
    );
  });

  it('true with SSL_CERT_FILE trusts that file, and the error names the variable', async () => {
    const { port } = await startHttps();
    const named = (file: string) => ({ SSL_CERT_FILE: file });
    expect((await open(port, tlsOf(true), '127.0.0.1', named(authority.caFile)).sendToEnd()).error).toBeUndefined();
    const sent = await open(port, tlsOf(true), '127.0.0.1', named(other.caFile)).sendToEnd();
    expect(causeOf(sent)).toContain(`the authorities of ${other.caFile} (SSL_CERT_FILE)`);
    // A path of the deployment has priority over the variable.
    expect(
      (await open(port, tlsOf(authority.caFile), '127.0.0.1', named(other.caFile)).sendToEnd()).error,
    ).toBeUndefined();
  });

  it('false trusts an expired certificate for another host, from an unknown authority', async () => {
    const files = await other.issue('foreign', { hosts: ['elsewhere.example'], expired: true });
    const { port } = await startHttps({ files });
    expect((await open(port, tlsOf(false)).sendToEnd()).text).toBe('{"ok":true}');
  });

  it('applies to each deployment separately, even with the same address', async () => {
    const { port } = await startHttps();
    const trusting = deploymentAt(`https://127.0.0.1:${port}/v1`, tlsOf(authority.caFile));
    const doubting = deploymentAt(`https://127.0.0.1:${port}/v1`, tlsOf(other.caFile));
    const upstream = closing(upstreamFor([trusting, doubting]));
    expect((await sendToEnd(upstream, trusting)).error).toBeUndefined();
    expect((await sendToEnd(upstream, doubting)).error?.kind).toBe('tls');
    expect((await sendToEnd(upstream, trusting)).error).toBeUndefined();
  });
});

describe('an invalid certificate', () => {
  it('is reported as expired', async () => {
    const { port } = await startHttps({ files: await authority.issue('late', { expired: true }) });
    expect(causeOf(await open(port, tlsOf(authority.caFile)).sendToEnd())).toBe(
      `The certificate of 127.0.0.1:${port}, or of its authority, has expired ` +
        `(CERT_HAS_EXPIRED; checked against the authorities of ${authority.caFile} (ssl_verify))`,
    );
  });

  it('is reported as for another host', async () => {
    const { port } = await startHttps({ files: await authority.issue('elsewhere', { hosts: ['elsewhere.example'] }) });
    for (const host of ['localhost', '127.0.0.1']) {
      const cause = causeOf(await open(port, tlsOf(authority.caFile), host).sendToEnd());
      expect(cause).toContain(`The certificate of ${host}:${port} is for another host (`);
      expect(cause).toMatch(/elsewhere\.example|not in the cert's list/);
    }
  });

  it('is reported as self-signed', async () => {
    const files = { certFile: join(folder, 'self.pem'), keyFile: join(folder, 'self.key') };
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-addext', 'basicConstraints=CA:FALSE'],
      ...['-keyout', files.keyFile, '-out', files.certFile],
    ]);
    const { port } = await startHttps({ files });
    expect(causeOf(await open(port, tlsOf(authority.caFile)).sendToEnd())).toContain(
      `The certificate of 127.0.0.1:${port} is self-signed and not among the authorities of ${authority.caFile} (ssl_verify)`,
    );
  });

  it('is not the reported cause if only one side uses TLS', async () => {
    const plain = closing(await ScriptedServer.start(({ socket }) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(causeOf(await open(plain.port, tlsOf(authority.caFile)).sendToEnd())).toBe(
      `127.0.0.1:${plain.port} does not speak TLS (ERR_SSL_WRONG_VERSION_NUMBER): is api_base http:// instead of https://?`,
    );
    const { port } = await startHttps();
    const deployment = deploymentAt(`http://127.0.0.1:${port}/v1`);
    const { error } = await sendToEnd(closing(upstreamFor([deployment])), deployment);
    expect(['connection', 'malformedAnswer']).toContain(error?.kind);
  });

  it('is not the reported cause if the upstream speaks only TLS 1.1', async () => {
    const server = createTlsServer({
      cert: readFileSync(certificate.certFile),
      key: readFileSync(certificate.keyFile),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing({ close: () => once(server.close(), 'close') });
    const { port } = server.address() as AddressInfo;
    const sent = await open(port, tlsOf(authority.caFile)).sendToEnd();
    expect(sent.error?.kind).toBe('tls');
    expect(causeOf(sent)).toContain(`127.0.0.1:${port} does not speak TLS 1.2 or later`);
  });

  it('is not the reported cause if the upstream speaks only HTTP/2', async () => {
    const server = createTlsServer({
      cert: readFileSync(certificate.certFile),
      key: readFileSync(certificate.keyFile),
      ALPNProtocols: ['h2'],
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing({ close: () => once(server.close(), 'close') });
    const { port } = server.address() as AddressInfo;
    const sent = await open(port, tlsOf(authority.caFile)).sendToEnd();
    expect(sent.error?.kind).toBe('tls');
    // OpenSSL's whole message contains a memory address of this process.
    expect(causeOf(sent)).toMatch(/ failed: tlsv1 alert no application protocol \(/);
  });

  it('is not the reported cause if the upstream closes during the handshake', async () => {
    const server = closing(await ScriptedServer.start(({ socket }) => socket.resetAndDestroy()));
    const sent = await open(server.port, tlsOf(authority.caFile)).sendToEnd();
    expect([sent.error?.kind, causeOf(sent)]).toEqual([
      'tls',
      `127.0.0.1:${server.port} closed the connection during the TLS handshake (ECONNRESET)`,
    ]);
  });
});

describe('a client certificate', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'is sent over %s, and the error mentions it if it is missing',
    async (maxVersion) => {
      const { port } = await startHttps({ clientCa: authority.caFile, maxVersion });
      const client = await authority.issue('client', { hosts: ['client'] });
      expect((await open(port, tlsOf(authority.caFile, client)).sendToEnd()).text).toBe('{"ok":true}');
      const both = join(folder, 'client-both.pem');
      writeFileSync(both, readFileSync(client.keyFile, 'utf8') + readFileSync(client.certFile, 'utf8'));
      expect((await open(port, tlsOf(authority.caFile, { certFile: both, keyFile: both })).sendToEnd()).text).toBe(
        '{"ok":true}',
      );
      const sent = await open(port, tlsOf(authority.caFile)).sendToEnd();
      // TLS 1.3 rejects the client after the request was sent. The reset may arrive before the
      // reason.
      expect(maxVersion === 'TLSv1.2' ? ['tls'] : ['tls', 'connection']).toContain(sent.error?.kind);
      expect(causeOf(sent)).toContain('does it require a client certificate (ssl_certificate, ssl_certificate_key)?');
    },
  );

  it('is used with its own key, even if this is the second one in the key file', async () => {
    const { port } = await startHttps({ clientCa: authority.caFile });
    const client = await authority.issue('renewed', { hosts: ['client'] });
    const keyFile = join(folder, 'two.key');
    writeFileSync(keyFile, readFileSync(certificate.keyFile, 'utf8') + readFileSync(client.keyFile, 'utf8'));
    const { sendToEnd } = open(port, tlsOf(authority.caFile, { certFile: client.certFile, keyFile }));
    expect((await sendToEnd()).text).toBe('{"ok":true}');
  });
});

describe('connections with TLS', () => {
  it('make a single handshake for 20 consecutive streams', async () => {
    const { port, counted } = await startHttps({
      answer: (request, response) => {
        request.resume();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < 3; at += 1) response.write(`data: ${at}\n\n`);
        response.end();
      },
    });
    const { upstream, deployment } = open(port, tlsOf(authority.caFile));
    for (let at = 0; at < 20; at += 1) {
      expect((await sendToEnd(upstream, deployment)).text).toBe('data: 0\n\ndata: 1\n\ndata: 2\n\n');
    }
    expect([counted.handshakes, upstream.handshakes]).toEqual([1, 1]);
  });

  it('make at most 32 handshakes for 32 clients, even if answers arrive very early', async () => {
    // The server runs in its own process: in this process, an answer never arrives before Node reports the
    // write of its request.
    const near = `
      import { readFileSync } from 'node:fs';
      import { createServer } from 'node:https';
      const [cert, key] = process.argv.slice(1).map((file) => readFileSync(file));
      const server = createServer({ cert, key }, (request, response) => request.resume().once('end', () => response.end('{}')));
      server.listen(0, '127.0.0.1', () => console.log(server.address().port));
    `;
    const { certFile, keyFile } = certificate;
    const child = spawn(process.execPath, ['--input-type=module', '-e', near, certFile, keyFile], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [port] = (await once(child.stdout, 'data')) as [Buffer]; // no encoding is set
      const { upstream, sendToEnd } = open(Number(String(port)), tlsOf(authority.caFile));
      const one = async () => {
        for (let at = 0; at < 40; at += 1) expect((await sendToEnd()).text).toBe('{}');
      };
      await Promise.all(Array.from({ length: 32 }, one));
      expect(upstream.handshakes).toBeLessThanOrEqual(32);
    } finally {
      child.kill();
    }
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'resume their TLS session when a new connection is needed over %s',
    async (maxVersion) => {
      const { port, counted, sockets } = await startHttps({ maxVersion });
      const { upstream, deployment } = open(port, tlsOf(authority.caFile));
      for (let at = 0; at < 3; at += 1) {
        expect((await sendToEnd(upstream, deployment)).error).toBeUndefined();
        for (const socket of sockets) socket.destroy();
      }
      expect(counted).toEqual({ handshakes: 3, resumed: 2, serverNames: [false, false, false] });
    },
  );

  it('cause an error if they are reset while the client does not read', async () => {
    const { port, sockets } = await startHttps({
      answer: (request, response) => {
        request.resume();
        response.writeHead(200, { connection: 'close' });
        response.write('abc');
      },
    });
    const { upstream, deployment } = open(port, tlsOf(authority.caFile));
    const sent = send(upstream, deployment, {}, () => sent.call?.pause());
    await sent.waitForBytes(3);
    sockets[0]?.resetAndDestroy();
    expect((await sent.waitForEnd()).error?.kind).toBe('malformedAnswer');
  });

  it('end at once if the request is aborted during the handshake', async () => {
    const server = closing(await ScriptedServer.start(() => undefined));
    const { upstream, deployment } = open(server.port, tlsOf(authority.caFile));
    const sent = send(upstream, deployment);
    const connection = await server.waitForConnection(1);
    sent.call?.abort();
    await waitFor(
      () => connection.socket.destroyed || undefined,
      () => 'the connection is still open',
    );
    expect(sent.callbacks).toEqual([]);
  });
});

describe('a reload', () => {
  it('does not close connections of deployments with the same address and certificates', async () => {
    const { port, counted } = await startHttps();
    const { upstream, deployment } = open(port, tlsOf(authority.caFile));
    await sendToEnd(upstream, deployment);
    const again = { ...deployment, modelName: 'renamed' };
    reloadNow(upstream, [again]);
    expect((await sendToEnd(upstream, again)).error).toBeUndefined();
    expect(counted.handshakes).toBe(1);
  });

  it('reads CA files again, and lets answers in flight finish', async () => {
    const answers: (() => void)[] = [];
    const { port, counted } = await startHttps({
      answer: (request, response) => {
        request.resume();
        response.write('a');
        answers.push(() => response.end('b'));
      },
    });
    const bundle = join(folder, 'changing.pem');
    copyFileSync(authority.caFile, bundle);
    const { upstream, deployment } = open(port, tlsOf(bundle));
    const inFlight = send(upstream, deployment);
    await inFlight.waitForBytes(1);
    copyFileSync(other.caFile, bundle);
    reloadNow(upstream, [deployment]);
    expect((await sendToEnd(upstream, deployment)).error?.kind).toBe('tls');
    for (const answer of answers) answer();
    expect((await inFlight.waitForEnd()).text).toBe('ab');
    copyFileSync(authority.caFile, bundle);
    reloadNow(upstream, [deployment]);
    const sent = send(upstream, deployment);
    await sent.waitForBytes(1);
    for (const answer of answers) answer();
    await sent.waitForEnd();
    expect(counted.handshakes).toBe(2);
  });

  it('uses the old certificates if the new ones cannot be read, and logs the reason', async () => {
    const { port } = await startHttps();
    const bundle = join(folder, 'breaking.pem');
    copyFileSync(authority.caFile, bundle);
    const { upstream, deployment } = open(port, tlsOf(bundle));
    writeFileSync(bundle, 'no certificate');
    reloadNow(upstream, [deployment]);
    expect((await sendToEnd(upstream, deployment)).error).toBeUndefined();
    expect(upstream).toHaveProperty('logged', [
      `reloading certificates failed: the old ones stay in use {"why":"reading ${bundle}: the file has no PEM block of a certificate"}`,
    ]);
  });

  it('changes nothing if the certificates of a new deployment cannot be read', async () => {
    const { port, counted } = await startHttps();
    const { upstream, deployment } = open(port, tlsOf(authority.caFile));
    await sendToEnd(upstream, deployment);
    const added = deploymentAt(deployment.apiBase, tlsOf(join(folder, 'missing.pem')));
    expect(() => reloadNow(upstream, [added, deployment])).toThrow(/missing\.pem/);
    expect((await sendToEnd(upstream, deployment)).error).toBeUndefined();
    expect([counted.handshakes, upstream.handshakes]).toEqual([1, 1]);
  });

  it('closes the connections of removed deployments', async () => {
    const server = closing(await ScriptedServer.start(answering(() => answerOf('{}'))));
    const deployment = deploymentAt(server.apiBase);
    const upstream = closing(upstreamFor([deployment]));
    await sendToEnd(upstream, deployment);
    reloadNow(upstream, []);
    await waitFor(
      () => server.open === 0 || undefined,
      () => 'the connection is still open',
    );
    // A request that was routed before the reload continues.
    expect((await sendToEnd(upstream, deployment)).text).toBe('{}');
  });
});

describe('certificates that cannot be read', () => {
  it('cause a log line at the start, and an error with the name of the file for a request', async () => {
    const missing = join(folder, 'missing.pem');
    const { upstream, deployment } = open(443, tlsOf(missing));
    const sent = await sendToEnd(upstream, deployment);
    expect([sent.error?.status, sent.error?.kind]).toEqual([500, 'tls']);
    expect(sent.error?.message).toContain(`reading ${missing}: `);
    expect(upstream).toHaveProperty('logged.length', 1);
  });
});
