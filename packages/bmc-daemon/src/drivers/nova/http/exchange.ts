/** Sends one HTTP request to a service of a cloud, with limits for time and size. */
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { errorCode } from '@rackless/daemon/error-code.js';
import { limitInterimAnswers, MAX_INTERIM_ANSWERS } from '@rackless/daemon/http/interim-answers.js';
import { connectionReasons } from '../../../host/connection-reasons.js';
import type { CloudTls } from '../cloud/cloud-settings.js';
import { CloudFailure } from './cloud-failure.js';
import { MAX_RUNNING, RequestQueues, type QueueName } from './request-queue.js';

/** A request. */
export interface CloudRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /**
   * Maximum number of bytes of the answer to read, decoded as latin1. Default: the whole answer, decoded
   * as UTF-8.
   */
  readonly headBytes?: number | undefined;
  /** The queue of the request. Default: one for each host and port. */
  readonly queue?: QueueName | undefined;
}

/** A request with a large body. */
export interface CloudUpload extends Pick<CloudRequest, 'url' | 'headers'> {
  readonly method: 'PUT';
  /** If this stream fails, the request ends. */
  readonly body: Readable;
  readonly signal: AbortSignal;
}

/** An answer of any status except 1xx: complete, or the requested `headBytes` of its body. */
export interface CloudAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** Sends requests. */
export interface Exchange {
  /**
   * Sends one request, and reads the whole answer, or its first `headBytes`.
   * @param deadline time of {@link performance.now} at which the answer must be complete.
   * @throws {CloudFailure} if there is no usable answer until then.
   */
  send(request: CloudRequest, deadline: number): Promise<CloudAnswer>;
  /**
   * Sends a stream. There is no deadline while bytes move.
   * @throws {CloudFailure} if there is no usable answer; the failure of the stream; the signal's reason.
   */
  upload(request: CloudUpload): Promise<CloudAnswer>;
  /** Ends all requests, and closes the connections. */
  close(): void;
}

/** Maximum size of an answer. A page of 1,000 servers has 4 MB. */
const MAX_BYTES = 64 * 1024 * 1024;
/**
 * Longest time of an upload without a transferred byte. A service may need this time to store the
 * last bytes.
 */
const MAX_SILENCE_MS = 120_000;

/** Creates the client of one cloud. */
export function createExchange(tls: CloudTls): Exchange {
  const { begin, destroyIdle } = createConnections(tls);
  let isClosed = false;
  const running = new Set<ClientRequest>();
  const queues = new RequestQueues();
  const open = ({ method, url, headers, body }: CloudRequest): ClientRequest => {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const content =
      payload === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) };
    const request = begin({ method, url, headers: { ...content, ...headers } });
    request.end(payload);
    return request;
  };
  const exchange = (request: CloudRequest, doing: string, deadline: number): Promise<CloudAnswer> =>
    new Promise((resolve, reject) => {
      if (isClosed) {
        reject(shuttingDown());
        return;
      }
      const left = deadline - performance.now();
      if (left <= 0) {
        reject(new CloudFailure('timeout', `${doing}: its time limit has passed`));
        return;
      }
      const sent = open(request);
      running.add(sent);
      const timer = setTimeout(() => {
        sent.destroy(new CloudFailure('timeout', `${doing}: no complete answer within ${(left / 1000).toFixed(1)} s`));
      }, left);
      const finish = (): void => {
        clearTimeout(timer);
        running.delete(sent);
      };
      receive(sent, doing, request.headBytes).finally(finish).then(resolve, reject);
    });
  return {
    send: (request, deadline) => {
      const doing = describe(request);
      const name = request.queue ?? { name: request.url.origin, running: MAX_RUNNING };
      return queues
        .of(name)
        .run(doing, deadline, () => exchange(request, doing, deadline))
        .catch((error: unknown) => {
          throw withAddress(error, request.url);
        });
    },
    upload: async (request) => {
      if (isClosed) throw shuttingDown();
      request.signal.throwIfAborted();
      const sent = begin({ ...request, headers: { 'content-type': 'application/octet-stream', ...request.headers } });
      running.add(sent);
      try {
        return await sendStream(sent, request);
      } catch (error) {
        throw withAddress(error, request.url);
      } finally {
        running.delete(sent);
      }
    },
    close: () => {
      isClosed = true;
      for (const request of running) request.destroy(shuttingDown());
      destroyIdle();
    },
  };
}

/** Creates the functions that begin a request, and that close idle connections. */
function createConnections({ verify, ...certificates }: CloudTls) {
  // The queues limit the number of connections, so the pool needs no limit.
  const pool = { keepAlive: true };
  const agents = {
    'http:': new HttpAgent(pool),
    'https:': new HttpsAgent({ ...pool, rejectUnauthorized: verify, ...certificates }),
  };
  const begin = ({ method, url, headers }: Pick<CloudRequest, 'method' | 'url' | 'headers'>): ClientRequest => {
    const secure = url.protocol === 'https:';
    const options = {
      method,
      // The service may close an idle connection while the driver writes a request to it. Then the
      // driver does not know whether the service executed the request, and must not repeat a
      // change. So each change uses a new connection.
      agent: method !== 'GET' ? false : secure ? agents['https:'] : agents['http:'],
      headers: { accept: 'application/json', 'user-agent': 'rackless-bmc-daemon', ...headers },
    };
    return secure
      ? httpsRequest(url, { ...options, rejectUnauthorized: verify, ...certificates })
      : httpRequest(url, options);
  };
  const destroyIdle = (): void => {
    for (const agent of Object.values(agents)) agent.destroy();
  };
  return { begin, destroyIdle };
}

/** Sends the body, without a deadline while bytes move, and waits for the answer. */
async function sendStream(sent: ClientRequest, { body, signal, ...request }: CloudUpload): Promise<CloudAnswer> {
  const doing = describe(request);
  sent.setTimeout(MAX_SILENCE_MS, () => {
    sent.destroy(new CloudFailure('timeout', `${doing}: no data was sent or received for ${MAX_SILENCE_MS / 1000} s`));
  });
  let failure: { readonly error: unknown } | undefined;
  const stop = (error: unknown): void => {
    failure ??= { error };
    sent.destroy();
  };
  const onAbort = (): void => stop(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  body.once('error', stop);
  try {
    const answer = receive(sent, doing);
    body.pipe(sent);
    return await answer;
  } catch (error) {
    throw failure === undefined ? error : failure.error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // If the answer comes before the end of the body, the service does not want the rest.
    body.destroy();
    sent.destroy();
  }
}

const shuttingDown = (): CloudFailure => new CloudFailure('closed', 'the service is shutting down');

/** Waits for the whole answer, or for its first `headBytes`. @throws {CloudFailure} if no usable answer comes. */
function receive(request: ClientRequest, doing: string, headBytes?: number): Promise<CloudAnswer> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const fail = (error: unknown): void => reject(asCloudFailure(error, { doing, isConnected }));
    request.on('socket', (socket) => {
      // Node marks a connection as reused only if it was idle, not if the request waited for it. So the state
      // of the connection counts too.
      if (request.reusedSocket || isOpen(socket)) isConnected = true;
      // With TLS, the service receives the request only after the handshake.
      else socket.once(request.protocol === 'https:' ? 'secureConnect' : 'connect', () => void (isConnected = true));
    });
    limitInterimAnswers(request, () => new Error(`more than ${MAX_INTERIM_ANSWERS} 1xx answers`));
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      fail(new Error('it answered 101'));
    });
    request.on('error', fail);
    let isAnswered = false;
    request.on('close', () => {
      if (!isAnswered) fail(new Error('the connection ended before the answer'));
    });
    request.on('response', (response) => {
      isAnswered = true;
      readBody(response, headBytes).then(
        (text) => resolve({ status: response.statusCode ?? 0, headers: plainHeaders(response), text }),
        (error: unknown) => {
          fail(error);
          request.destroy();
        },
      );
    });
  });
}

/** Returns whether a connection is open. With TLS, the handshake must be complete. */
function isOpen(socket: Socket): boolean {
  return !socket.connecting && !('secureConnecting' in socket && socket.secureConnecting === true);
}

async function readBody(response: IncomingMessage, headBytes: number | undefined): Promise<string> {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  // The request did not allow compression. A small compressed body could expand to a very large
  // one.
  if (encoding !== 'identity') throw new Error(`it sends its answer compressed (${encoding.slice(0, 20)})`);
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > MAX_BYTES) throw new Error(`its answer is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
    pieces.push(piece);
    // Leaving the loop destroys the response and its connection, so the service cannot send more.
    if (headBytes !== undefined && length >= headBytes) break;
  }
  const body = Buffer.concat(pieces, length);
  return headBytes === undefined ? body.toString('utf8') : body.toString('latin1', 0, headBytes);
}

function plainHeaders({ headers }: IncomingMessage): CloudAnswer['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

const reasons: Readonly<Record<string, string>> = {
  ...connectionReasons,
  ECONNRESET: 'the service closed the connection',
};

function asCloudFailure(
  error: unknown,
  { doing, isConnected }: { readonly doing: string; readonly isConnected: boolean },
): CloudFailure {
  if (error instanceof CloudFailure) return error;
  const code = errorCode(error);
  const text = error instanceof Error ? error.message : String(error);
  // The text of a system error contains an address, which clients must not see. So the message has only its
  // code.
  const isSystem = error instanceof Error && 'syscall' in error;
  const unknown = code === undefined ? text : isSystem ? code : `${code}: ${text}`;
  const reason = reasons[code ?? ''] ?? unknown;
  return new CloudFailure(isConnected ? 'interrupted' : 'unreachable', `${doing}: ${reason}`, { cause: error });
}

/** Adds the address of the service to the cause. The log shows causes, clients do not see them. */
function withAddress(error: unknown, { origin }: URL): unknown {
  if (!(error instanceof CloudFailure)) return error;
  return new CloudFailure(error.kind, error.message, {
    cause: new Error(`requesting ${origin}`, { cause: error.cause }),
  });
}

/** Describes a request without its address and its query, such as `GET /v2.1/servers`. */
function describe({ method, url }: Pick<CloudRequest, 'method' | 'url'>): string {
  return `${method} ${url.pathname}`;
}
