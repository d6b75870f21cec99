import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request as requestHttp, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority, type Authority, type CertificateFiles } from '../../sample-upstream/certificates.js';
import { deploymentAt, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer } from './scripted-server.js';

const closing = closingAfterEach();

let folder: string;
let authority: Authority;
let certificate: CertificateFiles;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-forward-proxy-'));
  authority = await createAuthority(folder);
  certificate = await authority.issue('server');
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a real forward proxy: tunnels for CONNECT, and absolute URLs for plain HTTP. */
async function startForwardProxy({
  account = null,
  secure = false,
}: { account?: string | null; secure?: boolean } = {}) {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const admits = ({ headers }: IncomingMessage) =>
    account === null || headers['proxy-authorization'] === `Basic ${Buffer.from(account).toString('base64')}`;
  const tls = { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  const server = secure ? createHttpsServer(tls) : createServer();
  server.on('request', (request: IncomingMessage, response) => {
    received.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers.host ?? ''}`);
    if (!admits(request)) {
      response.writeHead(407).end();
      return;
    }
    const headers = { ...request.headers };
    delete headers['proxy-authorization'];
    const onward = requestHttp(request.url ?? '', { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    received.push(`CONNECT ${request.url ?? ''}`);
    if (!admits(request)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${request.url ?? ''}`);
    const onward = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const one of [onward, socket]) one.on('error', () => undefined);
    sockets.add(onward);
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing({
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  });
  return { received, port: (server.address() as AddressInfo).port };
}

async function startUpstream(secure: boolean): Promise<string> {
  if (!secure) return closing(await ScriptedServer.start(answering((body) => answerOf(body)))).apiBase;
  const tls = { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  const server = createHttpsServer(tls, (request, response) => request.pipe(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing({
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const trusting = () => ({ tls: { verify: authority.caFile, clientCertificate: null } });

describe('a forward proxy from an environment variable', () => {
  it.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'])(
    'tunnels TLS (%s), and the proxy verifies the upstream with the authority of the deployment',
    async (name) => {
      const forwardProxy = await startForwardProxy();
      const apiBase = await startUpstream(true);
      const environment = { [name]: `http://127.0.0.1:${forwardProxy.port}` };
      const deployment = deploymentAt(apiBase, trusting());
      const upstream = closing(upstreamFor([deployment], environment));
      for (let at = 0; at < 3; at += 1) {
        expect((await sendToEnd(upstream, deployment, { body: `{"at":${at}}` })).text).toBe(`{"at":${at}}`);
      }
      // A single tunnel and handshake: connections through the forward proxy are reused.
      expect([forwardProxy.received, upstream.handshakes]).toEqual([[`CONNECT ${new URL(apiBase).host}`], 1]);
      const doubting = deploymentAt(apiBase);
      const { error } = await sendToEnd(closing(upstreamFor([doubting], environment)), doubting);
      expect(error?.kind).toBe('tls');
    },
  );

  it.each(['HTTP_PROXY', 'http_proxy'])('gets absolute URLs for plain HTTP (%s)', async (name) => {
    const forwardProxy = await startForwardProxy();
    const apiBase = await startUpstream(false);
    const deployment = deploymentAt(apiBase);
    const upstream = closing(upstreamFor([deployment], { [name]: `127.0.0.1:${forwardProxy.port}` }));
    expect((await sendToEnd(upstream, deployment, { body: '{"a":1}' })).text).toBe('{"a":1}');
    expect(forwardProxy.received).toEqual([`POST ${apiBase}/chat/completions ${new URL(apiBase).host}`]);
  });

  it('may have its own certificate, which is verified independently of the deployment', async () => {
    const forwardProxy = await startForwardProxy({ secure: true });
    const deployment = deploymentAt(await startUpstream(true), trusting());
    const environment = { HTTPS_PROXY: `https://localhost:${forwardProxy.port}` };
    const trusted = { ...environment, SSL_CERT_FILE: authority.caFile };
    expect((await sendToEnd(closing(upstreamFor([deployment], trusted)), deployment)).text).toBe('{}');
    const { error } = await sendToEnd(closing(upstreamFor([deployment], environment)), deployment);
    expect([error?.status, error?.kind]).toEqual([500, 'connection']);
    expect(error?.message).toContain(`cannot be reached through the proxy localhost:${forwardProxy.port}`);
  });

  it('gets the user and the password of its URL, and no error contains the password', async () => {
    const forwardProxy = await startForwardProxy({ account: 'me:s3cret/' });
    const deployment = deploymentAt(await startUpstream(true), trusting());
    const environment = { HTTPS_PROXY: `http://me:s3cret%2F@127.0.0.1:${forwardProxy.port}` };
    expect((await sendToEnd(closing(upstreamFor([deployment], environment)), deployment)).text).toBe('{}');
    const plain = deploymentAt(await startUpstream(false));
    const plainEnvironment = { HTTP_PROXY: environment.HTTPS_PROXY };
    expect((await sendToEnd(closing(upstreamFor([plain], plainEnvironment)), plain)).text).toBe('{}');
    const wrong = { HTTPS_PROXY: `http://me:wr0ng@127.0.0.1:${forwardProxy.port}` };
    const { error } = await sendToEnd(closing(upstreamFor([deployment], wrong)), deployment);
    expect(error?.message).toContain(
      `cannot be reached through the proxy 127.0.0.1:${forwardProxy.port}: the proxy answered 407 Proxy Authentication Required`,
    );
    expect(error?.message).not.toContain('wr0ng');
  });

  it('is not used for the hosts in NO_PROXY', async () => {
    const forwardProxy = await startForwardProxy();
    const apiBase = await startUpstream(false);
    const deployment = deploymentAt(apiBase);
    const environment = { HTTP_PROXY: `http://127.0.0.1:${forwardProxy.port}`, NO_PROXY: 'example.org, 127.0.0.0/8' };
    expect((await sendToEnd(closing(upstreamFor([deployment], environment)), deployment)).text).toBe('{}');
    expect(forwardProxy.received).toEqual([]);
  });

  it('appears in the error, together with the upstream, if the forward proxy is down', async () => {
    const gone = await ScriptedServer.start(() => undefined);
    const { port } = gone;
    await gone.close();
    const deployment = deploymentAt('https://upstream.example/v1', trusting());
    const upstream = closing(upstreamFor([deployment], { HTTPS_PROXY: `http://127.0.0.1:${port}` }));
    expect((await sendToEnd(upstream, deployment)).error?.message).toContain(
      `upstream.example:443 cannot be reached through the proxy 127.0.0.1:${port}: 127.0.0.1:${port} refused the connection`,
    );
  });

  it('causes an error with the name of the variable, not with its value, if its scheme is not supported', async () => {
    const deployment = deploymentAt('https://upstream.example/v1', trusting());
    const upstream = closing(upstreamFor([deployment], { HTTPS_PROXY: 'socks5://me:s3cret@proxy.example' }));
    const { error } = await sendToEnd(upstream, deployment);
    expect(error?.message).toContain('reading https_proxy or HTTPS_PROXY');
    expect(error?.message).not.toContain('s3cret');
  });
});
