/**
 * A real HTTPS server with the names of vendors, and a forward proxy that leads all names to it. So
 * the tests use the real addresses, and the proxy checks certificates for them.
 */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import {
  createServer as createForwardProxy,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createVendor } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from '@jest/globals';
import { createAuthority } from '../../sample-upstream/certificates.js';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';

/** A request at a vendor. */
export interface VendorRequest {
  /** `POST https://host/path?query`. */
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends the answer of a vendor. */
export type VendorAnswer = (request: VendorRequest, response: ServerResponse) => void;

/** Makes an answer in JSON. */
export const json =
  (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): VendorAnswer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  };

/** Makes an answer with a stream of events. */
export const events =
  (...lines: readonly string[]): VendorAnswer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(lines.map((line) => `data: ${line}\n\n`).join(''));
  };

/** The running server of all vendors, and the forward proxy. */
export class Vendors {
  /** Path of the CA certificate. */
  readonly caFile: string;
  /** A folder for files of the test. */
  readonly folder: string;
  readonly requests: VendorRequest[] = [];
  /** The answers by host. A host without an answer sends 500. */
  readonly answers = new Map<string, VendorAnswer>();
  readonly #servers: readonly Server[];
  readonly #forward: Server;
  readonly #sockets: Set<Socket>;

  private constructor(
    folder: string,
    caFile: string,
    [vendor, forward]: readonly [Server, Server],
    sockets: Set<Socket>,
  ) {
    this.folder = folder;
    this.caFile = caFile;
    this.#servers = [vendor, forward];
    this.#forward = forward;
    this.#sockets = sockets;
  }

  /** Starts the servers. @param hosts names in the certificate. */
  static async start(hosts: readonly string[]): Promise<Vendors> {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-vendors-'));
    const authority = await createAuthority(folder);
    const { certFile, keyFile } = await authority.issue('vendors', { hosts });
    const sockets = new Set<Socket>();
    // The callbacks run after `self` is set.
    const holder: { self?: Vendors } = {};
    const vendor = createVendor({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { host = '' } = request.headers;
        const line = `${request.method} https://${host}${request.url}`;
        const received = { line, headers: request.headers, body: Buffer.concat(chunks).toString() };
        holder.self?.requests.push(received);
        const answer = holder.self?.answers.get(host) ?? json({ error: { message: `no answer for ${host}` } }, 500);
        answer(received, response);
      });
    });
    const forward = createForwardProxy();
    forward.on('connect', (_request, client: Socket, head: Buffer) => {
      const server = connect((vendor.address() as AddressInfo).port, '127.0.0.1'); // a TCP server has an AddressInfo
      for (const socket of [client, server]) {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
        socket.on('error', () => [client, server].forEach((each) => each.destroy()));
      }
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      server.write(head);
      client.pipe(server).pipe(client);
    });
    const servers = [vendor, forward] as const;
    for (const server of servers) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    holder.self = new Vendors(folder, authority.caFile, servers, sockets);
    return holder.self;
  }

  /** Starts a proxy. @param models YAML of the entries. @param settings lines of `litellm_settings`. */
  async proxy(
    models: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    settings: readonly string[] = [],
  ): Promise<TestProxy> {
    const { port } = this.#forward.address() as AddressInfo; // a TCP server has an AddressInfo
    const lines = [`ssl_verify: ${this.caFile}`, ...settings].map((line) => `  ${line}`);
    const yaml = ['model_list:', ...models, 'litellm_settings:', ...lines, ''].join('\n');
    return startTestProxy(yaml, { environment: { HTTPS_PROXY: `http://127.0.0.1:${port}`, ...environment } });
  }

  /** Removes the requests so far, and returns them. */
  take(): readonly VendorRequest[] {
    return this.requests.splice(0);
  }

  /** Removes the requests so far. @returns the first with its parsed body. @throws {Error} if there was no request. */
  firstRequest(): VendorRequest & { readonly json: unknown } {
    const [request] = this.take();
    if (request === undefined) throw new Error('the upstream got no request');
    return { ...request, json: JSON.parse(request.body) as unknown };
  }

  async close(): Promise<void> {
    const closed = this.#servers.map((server) => once(server, 'close'));
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.closeAllConnections();
    await Promise.all(closed);
    rmSync(this.folder, { recursive: true });
  }
}

/** Forgets requests and answers after each test of a suite, and closes its proxy and servers after all of them. */
export function cleanUp(suite: () => { readonly vendors: Vendors; readonly proxy: TestProxy }): void {
  afterEach(() => {
    const { vendors } = suite();
    vendors.take();
    vendors.answers.clear();
  });
  afterAll(async () => {
    const { vendors, proxy } = suite();
    await proxy.close();
    await vendors.close();
  });
}

/** Returns an entry of `model_list`. */
export function entry(name: string, params: Readonly<Record<string, string>>): string {
  const lines = Object.entries(params).map(([key, value]) => `      ${key}: ${JSON.stringify(value)}`);
  return [`  - model_name: ${name}`, '    litellm_params:', ...lines].join('\n');
}

/** The host of Google's token server in {@link serviceAccount}. */
export const GOOGLE_TOKEN_HOST = 'oauth2.googleapis.com';

/** Makes the key of a service account, as Google's console gives it. */
export function serviceAccount(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return JSON.stringify({
    type: 'service_account',
    project_id: 'project-1',
    private_key_id: '1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'proxy@project-1.iam.gserviceaccount.com',
    client_id: '1',
    token_uri: `https://${GOOGLE_TOKEN_HOST}/token`,
  });
}
