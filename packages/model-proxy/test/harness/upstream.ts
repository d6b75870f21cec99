/** The upstream of the suites: the sample behind a certificate of a private authority, scripted by requests, with a memory. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority, type Authority, type CertificateFiles } from '../../sample-upstream/certificates.js';
import { startSampleUpstream, type SampleUpstream, type SampleUpstreamOptions } from '../../sample-upstream/server.js';
import type { JsonObject } from '../../sample-upstream/requests.js';
import { Gates, play, scriptOf, type Stage } from './script.js';
import { waitFor } from './wait.js';

/** What the upstream wants to see in Authorization. */
export const API_KEY = 'sk-upstream-0123456789abcdef';

/** One request as the upstream saw it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  /** Name, value, name, value; as they were spelled. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** The bytes of the body; undefined: it did not come to its end. */
  body: Buffer | undefined;
  json: JsonObject | null;
  /** The bytes of the answer's body so far. */
  readonly sent: Buffer[];
  /** How it ended: `aborted` where the client went first. */
  outcome: 'open' | 'answered' | 'aborted';
}

export interface TestUpstreamOptions extends Partial<
  Pick<SampleUpstreamOptions, 'models' | 'reportedModel' | 'tokenMs' | 'port'>
> {
  readonly apiKey?: string | null;
  /** Issued by another authority, for another host, expired: what a client must refuse. Made by {@link TestUpstream.authority}'s like. */
  readonly certificate?: (folder: string, authority: Authority) => Promise<CertificateFiles>;
  /** `false`: HTTP. */
  readonly secure?: boolean;
  /** Clients must show a certificate of the same authority. */
  readonly clientCertificates?: boolean;
}

export class TestUpstream {
  /** For whatever a test needs; removed by {@link close}. */
  readonly folder: string;
  readonly authority: Authority;
  readonly gates = new Gates();
  readonly received: Received[] = [];
  /** Why what came was no HTTP. */
  readonly malformed: string[] = [];
  /** TCP connections so far. */
  connections = 0;
  readonly #sample: SampleUpstream;

  private constructor(folder: string, authority: Authority, sample: SampleUpstream) {
    this.folder = folder;
    this.authority = authority;
    this.#sample = sample;
  }

  /** Starts one with an authority of its own. */
  static async start(options: TestUpstreamOptions = {}): Promise<TestUpstream> {
    const { apiKey = API_KEY, secure = true, certificate, clientCertificates = false, ...rest } = options;
    const folder = mkdtempSync(join(tmpdir(), 'rackless-upstream-'));
    const authority = await createAuthority(folder);
    const tls = secure ? await (certificate?.(folder, authority) ?? authority.issue('server')) : null;
    const sockets = new Map<number | undefined, Socket>();
    const seen = new WeakMap<IncomingMessage, Received>();
    // The server calls back only when the class below exists.
    const self: { current?: TestUpstream } = {};
    const sample = await startSampleUpstream({
      ...rest,
      tls,
      apiKey,
      ...(clientCertificates ? { clientCaFile: authority.caFile } : {}),
      onRequest: (request, response) => {
        const record = recordOf(request, response);
        seen.set(request, record);
        self.current?.received.push(record);
      },
      intercept: async (exchange) => {
        const record = seen.get(exchange.request);
        if (record !== undefined) Object.assign(record, { body: exchange.body, json: exchange.json });
        const script = scriptOf(exchange);
        if (script === undefined) return false;
        const stage: Stage = {
          gates: self.current?.gates ?? new Gates(),
          socketOf: ({ request }) => sockets.get(request.socket.remotePort) ?? request.socket,
        };
        return !(await play(script, exchange, stage));
      },
    });
    const upstream = new TestUpstream(folder, authority, sample);
    self.current = upstream;
    // A suite that fails before it can close anything must end all the same.
    sample.server.unref();
    sample.server.on('connection', (socket: Socket) => {
      upstream.connections += 1;
      sockets.set(socket.remotePort, socket);
    });
    sample.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // A connection that is cut is no malformed request.
      if (error.code?.startsWith('HPE_') === true) upstream.malformed.push(error.message);
      socket.destroy();
    });
    return upstream;
  }

  /** `https://localhost:12345/v1`. */
  get apiBase(): string {
    return this.#sample.apiBase;
  }

  get port(): number {
    return this.#sample.port;
  }

  get caFile(): string {
    return this.authority.caFile;
  }

  /** The last request that came. @throws {Error} there was none. */
  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error('the upstream has received nothing');
    return last;
  }

  /** Waits until a request of these has come. */
  waitForRequest(matches: (received: Received) => boolean): Promise<Received> {
    return waitFor(
      () => this.received.find(matches),
      () => `no such request came to the upstream; ${this.received.length} others did`,
    );
  }

  /** Waits until the request has ended. @returns how. */
  async ended(received: Received): Promise<Received['outcome']> {
    await waitFor(
      () => (received.outcome === 'open' ? undefined : true),
      () => 'the request is still open at the upstream',
    );
    return received.outcome;
  }

  forget(): void {
    this.received.length = 0;
    this.malformed.length = 0;
  }

  /** Ends it as a crash does; the folder stays until {@link close}. */
  async stop(): Promise<void> {
    if (!this.#sample.server.listening) return;
    await this.#sample.close();
  }

  /** Listens again, at the same port, with the same certificate. */
  async restart(): Promise<void> {
    this.#sample.server.listen(this.port, '127.0.0.1');
    await once(this.#sample.server, 'listening');
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }
}

function recordOf(request: IncomingMessage, response: ServerResponse): Received {
  const record: Received = {
    method: request.method ?? '',
    url: request.url ?? '',
    rawHeaders: request.rawHeaders,
    headers: request.headers,
    body: undefined,
    json: null,
    sent: [],
    outcome: 'open',
  };
  // What the answer's owner writes is what has to reach the client.
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string') record.sent.push(Buffer.from(chunk));
    else if (Buffer.isBuffer(chunk)) record.sent.push(chunk);
  };
  response.write = ((...words: Parameters<typeof write>) => {
    keep(words[0]);
    return write(...words);
  }) as typeof write; // its overloads are one function
  response.end = ((...words: Parameters<typeof end>) => {
    // `end` writes through `write` only where nothing else has been written: it is counted here alone.
    response.write = write;
    keep(words[0]);
    return end(...words);
  }) as typeof end; // the same
  response.once('close', () => {
    record.outcome = response.writableFinished ? 'answered' : 'aborted';
  });
  return record;
}
