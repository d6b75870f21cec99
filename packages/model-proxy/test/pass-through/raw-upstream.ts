/**
 * An upstream for raw pass-through: HTTPS with a certificate from a private CA, OpenAI's files and
 * batches, an echo, and WebSockets.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { createAuthority, type Authority, type CertificateFiles } from '../../sample-upstream/certificates.js';
import { waitFor } from '../harness/wait.js';

/** The expected key in Authorization. */
export const RAW_KEY = 'sk-raw-upstream-0123456789';

/** A received request. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  /** Undefined until the body has arrived. `text` is latin1; it is only the beginning of a body above 1 MiB. */
  body: { readonly length: number; readonly digest: string; readonly text: string } | undefined;
  readonly request: IncomingMessage;
  /**
   * `answered`: the upstream has sent its whole answer. `aborted`: the connection closed before. `open`: neither, or
   * the request is a handshake.
   */
  outcome: 'open' | 'answered' | 'aborted';
}

/**
 * Answers instead of the upstream, before the body is read.
 * @returns whether it answers.
 */
export type Intercept = (request: IncomingMessage, response: ServerResponse, seen: Seen) => boolean;

/** Options of {@link RawUpstream.start}. */
export interface RawUpstreamOptions {
  /** `false`: plain HTTP. */
  readonly secure?: boolean;
  /** The key that the upstream accepts. Default: {@link RAW_KEY}. */
  readonly apiKey?: string;
  /** Whether clients must have a certificate from the same CA. */
  readonly clientCertificates?: boolean;
}

/** A running upstream. */
export class RawUpstream {
  readonly folder: string;
  readonly authority: Authority;
  readonly seen: Seen[] = [];
  /** The upstream's ends of all WebSockets since {@link forget}, also of closed ones. */
  readonly webSockets: WebSocket[] = [];
  intercept: Intercept = () => false;
  /** Called with each accepted WebSocket. Undefined: the upstream sends each message back. */
  onWebSocket: ((socket: WebSocket, request: IncomingMessage) => void) | undefined;
  /**
   * Answers a handshake instead of accepting it.
   * @returns whether it answers.
   */
  onUpgrade: ((request: IncomingMessage, socket: Duplex) => boolean) | undefined;
  connections = 0;
  readonly sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #secure: boolean;
  readonly #files = new Map<string, { readonly filename: string; readonly bytes: number }>();

  private constructor(folder: string, authority: Authority, server: Server, secure: boolean) {
    this.folder = folder;
    this.authority = authority;
    this.#server = server;
    this.#secure = secure;
  }

  static async start(options: RawUpstreamOptions = {}): Promise<RawUpstream> {
    const { secure = true, apiKey = RAW_KEY, clientCertificates = false } = options;
    const folder = mkdtempSync(join(tmpdir(), 'rackless-raw-upstream-'));
    const authority = await createAuthority(folder);
    const { certFile, keyFile }: CertificateFiles = await authority.issue('server');
    const tls = {
      cert: readFileSync(certFile),
      key: readFileSync(keyFile),
      ...(clientCertificates
        ? { ca: readFileSync(authority.caFile), requestCert: true, rejectUnauthorized: true }
        : {}),
    };
    const server: Server = secure ? createHttpsServer(tls) : createHttpServer();
    const upstream = new RawUpstream(folder, authority, server, secure);
    const accepts = ({ headers }: IncomingMessage) => headers.authorization === `Bearer ${apiKey}`;
    server.on('connection', (socket: Socket) => {
      upstream.connections += 1;
      upstream.sockets.add(socket);
      socket.once('close', () => upstream.sockets.delete(socket));
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      upstream.#answer(request, response, accepts(request)),
    );
    const webSockets = new WebSocketServer({
      noServer: true,
      maxPayload: 64 * 1024 * 1024,
      handleProtocols: (offered) => (offered.has('realtime') ? 'realtime' : false),
    });
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      upstream.seen.push(seenOf(request));
      if (upstream.onUpgrade?.(request, socket) === true) return;
      if (!accepts(request)) {
        refuseUpgrade(socket, 401, {
          error: { message: 'wrong key', type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
        });
        return;
      }
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        upstream.webSockets.push(webSocket);
        webSocket.on('error', () => undefined);
        if (upstream.onWebSocket !== undefined) upstream.onWebSocket(webSocket, request);
        else webSocket.on('message', (data, isBinary) => webSocket.send(data, { binary: isBinary }));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  /** `https://localhost:12345`. */
  get origin(): string {
    return `${this.#secure ? 'https' : 'http'}://localhost:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // a TCP server has an AddressInfo
  }

  get apiBase(): string {
    return `${this.origin}/v1`;
  }

  get caFile(): string {
    return this.authority.caFile;
  }

  /**
   * Returns the last request.
   * @throws {Error} if there was no request.
   */
  get last(): Seen {
    const last = this.seen.at(-1);
    if (last === undefined) throw new Error('the upstream has received no request');
    return last;
  }

  /**
   * Returns the last request. Waits if there is none yet.
   * @throws {Error} after two minutes.
   */
  waitForRequest(): Promise<Seen> {
    return waitFor(
      () => this.seen.at(-1),
      () => 'the upstream has received no request',
    );
  }

  /** Removes the recorded requests and WebSockets, and the handlers of the test. */
  forget(): void {
    this.seen.length = 0;
    this.webSockets.length = 0;
    this.intercept = () => false;
    this.onWebSocket = undefined;
    this.onUpgrade = undefined;
  }

  /** Resets all connections, like a crash. */
  crash(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
    rmSync(this.folder, { recursive: true });
  }

  #answer(request: IncomingMessage, response: ServerResponse, isAccepted: boolean): void {
    const seen = seenOf(request);
    this.seen.push(seen);
    response.once('close', () => (seen.outcome = response.writableFinished ? 'answered' : 'aborted'));
    if (this.intercept(request, response, seen)) return;
    readBody(request, (body, text) => {
      seen.body = body;
      const json = (status: number, value: unknown) => {
        response.writeHead(status, {
          'content-type': 'application/json',
          'x-request-id': 'req-upstream',
          'openai-processing-ms': '7',
        });
        response.end(request.method === 'HEAD' ? undefined : JSON.stringify(value));
      };
      if (!isAccepted) {
        json(401, {
          error: { message: 'wrong key', type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
        });
        return;
      }
      this.#route(request, text, body.length, json);
    });
  }

  #route(
    { method = '', url = '' }: IncomingMessage,
    text: string,
    length: number,
    json: (status: number, value: unknown) => void,
  ): void {
    const path = url.split('?')[0] ?? '';
    const [, collection, id] = /^\/v1\/(files|batches)(?:\/([^/]+))?$/.exec(path) ?? [];
    if (collection === 'files') this.#file(method, id, text, length, json);
    else if (collection === 'batches') this.#batch(method, id, text, json);
    else json(200, { method, url, length });
  }

  #file(
    method: string,
    id: string | undefined,
    text: string,
    bytes: number,
    json: (status: number, value: unknown) => void,
  ): void {
    const show = (file: string) => ({
      id: file,
      object: 'file',
      purpose: 'batch',
      created_at: 1,
      status: 'processed',
      ...this.#files.get(file),
    });
    if (method === 'POST' && id === undefined) {
      const made = `file-${randomUUID()}`;
      this.#files.set(made, { filename: /filename="([^"]*)"/.exec(text)?.[1] ?? '', bytes });
      json(200, show(made));
    } else if (method === 'GET' && id === undefined) {
      json(200, { object: 'list', data: [...this.#files.keys()].map(show), has_more: false });
    } else if (id === undefined || !this.#files.has(id)) {
      json(404, {
        error: { message: `No such File object: ${id ?? ''}`, type: 'invalid_request_error', param: 'id', code: null },
      });
    } else if (method === 'DELETE') {
      this.#files.delete(id);
      json(200, { id, object: 'file', deleted: true });
    } else json(200, show(id));
  }

  #batch(method: string, id: string | undefined, text: string, json: (status: number, value: unknown) => void): void {
    if (method === 'POST')
      json(200, { id: 'batch_1', object: 'batch', status: 'validating', ...(JSON.parse(text) as object) });
    else if (id === undefined) json(200, { object: 'list', data: [], has_more: false });
    else json(200, { id, object: 'batch', status: 'completed' });
  }
}

function seenOf(request: IncomingMessage): Seen {
  const { method = '', url = '', headers, rawHeaders } = request;
  return { method, url, headers, rawHeaders, body: undefined, request, outcome: 'open' };
}

/** Reads a body, and stores only the beginning of a body above 1 MiB. */
function readBody(request: IncomingMessage, done: (body: NonNullable<Seen['body']>, text: string) => void): void {
  const digest = createHash('sha256');
  const chunks: Buffer[] = [];
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    digest.update(chunk);
    if (length < 1_048_576) chunks.push(chunk);
    length += chunk.length;
  });
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString('latin1');
    done({ length, digest: digest.digest('hex'), text }, text);
  });
}

/** Answers a handshake with a status and chunked JSON, as most servers do. */
export function refuseUpgrade(socket: Duplex, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nx-why: key\r\n\r\n` +
      `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
}
