/** Sends one HTTP request to a service, with limits for time and size. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { gunzipSync, inflateSync } from 'node:zlib';
import { errorCode } from '@rackless/daemon/error-code.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { CommandFailure, exitCode } from '../failure.js';

/** The address of a service, and how to reach it. */
export interface Endpoint {
  /** `https://192.0.2.1:8000`, without a path. */
  readonly origin: URL;
  /** Trusted CA certificates in PEM. Undefined: those of Node. */
  readonly ca?: string;
  /** Accept any certificate. */
  readonly insecure: boolean;
  /** The time in which an answer must be complete, in milliseconds; for a stream, only its status and headers. */
  readonly timeoutMs: number;
}

/** A request. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** The status and headers of an answer, and its body as it arrives. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly stream: IncomingMessage;
}

/** A complete answer of any status. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Maximum size of an answer, compressed or not. An expanded collection of 2,000 machines has 10 MB. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Maximum number of connections for GET requests. Small BMCs have few processes for requests. */
const MAX_CONNECTIONS = 4;

/** Texts for people, by the error codes of Node, OpenSSL and Node's HTTP parser. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the host rejected the connection: nothing listens at this address',
  ECONNRESET: 'the connection ended before the answer was complete',
  EPIPE: 'the connection ended before the request was complete',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved now',
  ETIMEDOUT: 'the host does not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed. Trust it with --ca FILE, or accept any with --insecure',
  SELF_SIGNED_CERT_IN_CHAIN: 'the authority of the certificate is unknown. Trust it with --ca FILE',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the authority of the certificate is unknown. Trust it with --ca FILE',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the authority of the certificate is unknown. Trust it with --ca FILE',
  CERT_HAS_EXPIRED: 'the certificate has expired. Renew it, or accept any with --insecure',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for other names than this one',
  EPROTO: 'TLS failed. The service may speak http instead of https',
  HPE_INVALID_CONSTANT: 'the answer is not HTTP. The service may speak https instead of http',
};

/** Sends requests to one service. */
export class Exchange {
  readonly endpoint: Endpoint;
  readonly #options: { readonly ca?: string; readonly rejectUnauthorized: boolean };
  readonly #agent: HttpAgent;
  readonly #isHttps: boolean;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
    this.#isHttps = endpoint.origin.protocol === 'https:';
    this.#options = {
      rejectUnauthorized: !endpoint.insecure,
      ...(endpoint.ca === undefined ? {} : { ca: endpoint.ca }),
    };
    const pool = { keepAlive: true, maxSockets: MAX_CONNECTIONS };
    this.#agent = this.#isHttps ? new HttpsAgent({ ...pool, ...this.#options }) : new HttpAgent(pool);
  }

  /**
   * Sends a request, and reads the whole answer. If the service has closed the idle connection of a
   * GET, sends the GET once more. Never repeats a request with another method, because the service may
   * have executed it.
   * @throws {CommandFailure} with the code `unavailable` or `timeout`.
   * @throws the reason of the request's signal if it aborts.
   */
  async send(request: ServiceRequest): Promise<Answer> {
    return this.#inTime(request, 'there is no complete answer', (limited) => this.#receive(limited));
  }

  async #receive(request: ServiceRequest): Promise<Answer> {
    try {
      return await readAnswer(await this.#open(request));
    } catch (error) {
      if (request.method !== 'GET' || !(error instanceof StaleConnectionError)) throw error;
      return readAnswer(await this.#open(request));
    }
  }

  /**
   * Sends a request, and returns the answer with its unread body. Only the status and the headers
   * have a time limit.
   * @throws {CommandFailure} as {@link send}.
   */
  async open(request: ServiceRequest): Promise<OpenAnswer> {
    return this.#inTime(request, 'there is no answer', (limited) => this.#open(limited));
  }

  /**
   * Calls a function with a request that also ends at the time limit.
   * @param failure describes the missing part, for the error.
   */
  async #inTime<T>(
    request: ServiceRequest,
    failure: string,
    call: (limited: ServiceRequest) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs } = this.endpoint;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    try {
      return await call({ ...request, signal: AbortSignal.any([request.signal, late.signal]) });
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (late.signal.aborted)
        throw new CommandFailure(exitCode.timeout, `${this.#name(request)}: ${failure} after ${timeoutMs / 1000} s`, {
          cause: error,
        });
      throw this.#failure(request, error);
    } finally {
      clearTimeout(timer);
    }
  }

  #open(request: ServiceRequest): Promise<OpenAnswer> {
    const { method, path, signal, body } = request;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      Accept: 'application/json',
      'OData-Version': '4.0',
      'User-Agent': 'racklessctl',
      ...(text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
      ...request.headers,
    };
    // A write always uses a new connection. The service may close an idle connection at any moment, and a
    // write is never repeated.
    const agent = method === 'GET' ? this.#agent : false;
    const send = this.#isHttps ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      // The path never changes the host, even if it looks like a URL.
      const sent = send(this.endpoint.origin, { ...this.#options, agent, method, path, headers }, (stream) => {
        // The reader of the answer gets the failure. Without this listener, an interruption between
        // two reads would end the process.
        stream.on('error', () => undefined);
        resolve({ status: stream.statusCode ?? 0, headers: stream.headers, stream });
      });
      // Does not use the option `signal`, because Node also passes it to the socket, which may then
      // belong to another request. Destroys without an error, because a socket whose answer is
      // complete has no listener for errors.
      const abort = (): void => void sent.destroy();
      signal.addEventListener('abort', abort, { once: true });
      sent.once('close', () => signal.removeEventListener('abort', abort));
      if (signal.aborted) abort();
      sent.on('error', (error) => {
        const isStale = sent.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(errorCode(error) ?? '');
        reject(isStale ? new StaleConnectionError(error.message, { cause: error }) : error);
      });
      sent.end(text);
    });
  }

  #name({ method, path }: ServiceRequest): string {
    return `${method} ${this.endpoint.origin.origin}${path}`;
  }

  #failure(request: ServiceRequest, error: unknown): CommandFailure {
    if (error instanceof CommandFailure) return error;
    // Node wraps the failures of several addresses of a host in one error. The message shows only the first.
    const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
    const code = errorCode(first) ?? '';
    const reason = REASONS[code] ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : fileReason(first));
    return new CommandFailure(exitCode.unavailable, `${this.#name(request)}: ${reason}`, { cause: error });
  }

  /** Closes the connections for GET requests, also those that a request uses. */
  close(): void {
    this.#agent.destroy();
  }
}

/** The service closed an idle connection while racklessctl sent the next request on it. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

async function readAnswer({ status, headers, stream }: OpenAnswer): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const piece = chunk as Buffer; // a stream without an encoding has bytes
    bytes += piece.length;
    if (bytes > MAX_BYTES) {
      stream.destroy();
      throw new Error(`the answer is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
    }
    chunks.push(piece);
  }
  return { status, headers, text: decompress(Buffer.concat(chunks), headers['content-encoding']).toString('utf8') };
}

/**
 * Decompresses a body, because some services compress although the request does not ask for it.
 * @throws {Error} if the coding is unknown, or if the body is invalid or too large.
 */
function decompress(body: Buffer, coding: string | undefined): Buffer {
  if (coding === undefined || coding === 'identity' || body.length === 0) return body;
  if (coding === 'gzip' || coding === 'x-gzip') return gunzipSync(body, { maxOutputLength: MAX_BYTES });
  if (coding === 'deflate') return inflateSync(body, { maxOutputLength: MAX_BYTES });
  throw new Error(`the answer has the unknown coding ${coding}`);
}
