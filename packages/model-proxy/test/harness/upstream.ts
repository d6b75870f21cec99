/**
 * The upstream of the suites: the sample upstream with a certificate of a private CA. If the body of a
 * request has a `script`, the upstream runs this script instead of its own answer. It records all
 * requests.
 */
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

/** The key that the upstream expects. */
export const API_KEY = 'sk-upstream-0123456789abcdef';

/** A request at the upstream. */
export interface Received {
  readonly method: string;
  readonly url: string;
  /** Each name, in its original case, followed by its value. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** The body; undefined: incomplete. */
  body: Buffer | undefined;
  json: JsonObject | null;
  /** The bytes of the answer's body so far. */
  readonly sent: Buffer[];
  /** How the request ended. `aborted`: the connection closed before the end of the answer. */
  outcome: 'open' | 'answered' | 'aborted';
}

/** Options of {@link TestUpstream.start}. */
export interface TestUpstreamOptions extends Partial<
  Pick<SampleUpstreamOptions, 'models' | 'reportedModel' | 'tokenMs' | 'port'>
> {
  readonly apiKey?: string | null;
  /** Makes another certificate, for example an expired one, which a client must reject. */
  readonly certificate?: (folder: string, authority: Authority) => Promise<CertificateFiles>;
  /** `false`: plain HTTP. */
  readonly secure?: boolean;
  /** Whether clients must have a certificate of the same authority. */
  readonly clientCertificates?: boolean;
}

/** A running upstream. */
export class TestUpstream {
  /** A folder for the test; {@link close} removes it. */
  readonly folder: string;
  readonly authority: Authority;
  readonly gates = new Gates();
  readonly received: Received[] = [];
  /** Faults of requests that were not HTTP. */
  readonly malformed: string[] = [];
  /** Number of TCP connections so far. */
  connections = 0;
  readonly #sample: SampleUpstream;

  private constructor(folder: string, authority: Authority, sample: SampleUpstream) {
    this.folder = folder;
    this.authority = authority;
    this.#sample = sample;
  }

  /** Starts an upstream with a new authority. */
  static async start(options: TestUpstreamOptions = {}): Promise<TestUpstream> {
    const { apiKey = API_KEY, secure = true, certificate, clientCertificates = false, ...rest } = options;
    const folder = mkdtempSync(join(tmpdir(), 'rackless-upstream-'));
    const authority = await createAuthority(folder);
    const tls = secure ? await (certificate?.(folder, authority) ?? authority.issue('server')) : null;
    const sockets = new Map<number | undefined, Socket>();
    const seen = new WeakMap<IncomingMessage, Received>();
    // The callbacks of the server run after `current` is set.
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
    // A suite that fails before it closes the upstream must end, too.
    sample.server.unref();
    sample.server.on('connection', (socket: Socket) => {
      upstream.connections += 1;
      sockets.set(socket.remotePort, socket);
    });
    sample.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // A closed connection is not a malformed request.
      if (error.code?.startsWith('HPE_') === true) upstream.malformed.push(error.message);
      socket.destroy();
    });
    return upstream;
  }

  /** `https://localhost:12345/v1`. */
  get apiBase(): string {
    return this.#sample.apiBase;
  }

  /** Port of the upstream. */
  get port(): number {
    return this.#sample.port;
  }

  /** Path of the authority's certificate. */
  get caFile(): string {
    return this.authority.caFile;
  }

  /** Returns the last request. @throws {Error} if there was no request. */
  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error('the upstream has received nothing');
    return last;
  }

  /** Returns the first request that matches. Waits if there is none yet. @throws {Error} after two minutes. */
  waitForRequest(matches: (received: Received) => boolean): Promise<Received> {
    return waitFor(
      () => this.received.find(matches),
      () => `the upstream got no such request, but ${this.received.length} others`,
    );
  }

  /** Waits for the end of a request. @returns its outcome. */
  async ended(received: Received): Promise<Received['outcome']> {
    await waitFor(
      () => (received.outcome === 'open' ? undefined : true),
      () => 'the request is still open at the upstream',
    );
    return received.outcome;
  }

  /** Removes the recorded requests and faults. */
  forget(): void {
    this.received.length = 0;
    this.malformed.length = 0;
  }

  /**
   * Closes the server and its connections, as after a crash. The folder stays until {@link close}.
   */
  async stop(): Promise<void> {
    if (!this.#sample.server.listening) return;
    await this.#sample.close();
  }

  /** Listens again on the same port with the same certificate. */
  async restart(): Promise<void> {
    this.#sample.server.listen(this.port, '127.0.0.1');
    await once(this.#sample.server, 'listening');
  }

  /** Closes the server and removes the folder. */
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
  // Records the bytes that the upstream writes, which must reach the client.
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string') record.sent.push(Buffer.from(chunk));
    else if (Buffer.isBuffer(chunk)) record.sent.push(chunk);
  };
  response.write = ((...args: Parameters<typeof write>) => {
    keep(args[0]);
    return write(...args);
  }) as typeof write; // the overloads have a single implementation
  response.end = ((...args: Parameters<typeof end>) => {
    // `end` may call `write`. Restores `write`, so that the chunk is recorded only once.
    response.write = write;
    keep(args[0]);
    return end(...args);
  }) as typeof end; // the overloads of `end` have a single implementation
  response.once('close', () => {
    record.outcome = response.writableFinished ? 'answered' : 'aborted';
  });
  return record;
}
