/**
 * The interface for all requests to upstreams, model requests and raw ones. It uses callbacks,
 * which cost less than streams (docs/decisions/009).
 */
import type { Steps } from '@rackless/daemon/process/slices.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { Deployment, Timeouts } from '../providers/deployment.js';
import type { BodyStream } from './body-stream.js';

/** A request to an upstream. */
export interface UpstreamRequest {
  readonly deployment: Deployment;
  readonly method: string;
  /** Absolute URL. */
  readonly url: string;
  /**
   * Name, value, name, value; names in lower case. Without host, content-length and hop-by-hop
   * headers.
   */
  readonly headers: readonly string[];
  /**
   * Buffers are sent as a single body with a Content-Length. `Upstream` does not change them, and
   * stores them for a retry. A stream is sent while it arrives, over a new connection and without
   * retries. The stream is destroyed with the request.
   */
  readonly body: readonly Buffer[] | BodyStream;
  readonly timeouts: Timeouts;
  /**
   * Milliseconds of the timeouts that have passed before the request was sent. {@link Timeouts.firstByteMs}
   * includes them until the upload makes progress. Default: 0.
   */
  readonly waitedMs?: number;
  /**
   * Whether the answer goes to the client as it is: the proxy does not decompress the answer, and
   * {@link Timeouts.firstByteMs} ends with the head of the answer.
   */
  readonly isRaw?: boolean;
  /**
   * Returns the timeouts for the time after the end of a body stream. A form may have the field
   * `stream` at its end, which changes the timeouts.
   */
  readonly finalTimeouts?: () => Timeouts;
}

/**
 * Receives an answer: head, data…, then end or error. No call follows the end, an error or an
 * abort.
 */
export interface UpstreamHandler {
  /**
   * The head of the final answer; interim answers (1xx) are ignored.
   * @param headers name, value, name, value; names in lower case.
   */
  onHead(status: number, headers: readonly string[]): void;
  /**
   * Bytes of the body. After {@link UpstreamCall.pause}, bytes that are already read may still
   * arrive.
   */
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** @param error of any kind except request and authentication. The kind is upstreamStatus only if a
   *   token server rejected the credentials. */
  onError(error: ProxyError): void;
}

/** A request in flight. */
export interface UpstreamCall {
  /** Ends the request and its connection at once. No callback follows. */
  abort(): void;
  pause(): void;
  resume(): void;
}

/** A request in flight, as {@link Upstream.send} returns it. */
export interface SentCall extends UpstreamCall {
  /**
   * After the end of the answer: whether the memory of the request's body can be reused, because no
   * socket reads it anymore.
   */
  readonly isBodyFree: boolean;
}

/** The client for all upstreams. */
export interface Upstream {
  /** Starts a request. Never throws, and never calls the handler synchronously. */
  send(request: UpstreamRequest, handler: UpstreamHandler): SentCall;
  /**
   * Prepares other deployments for a reload, and reads CA and key files again. Changes nothing.
   * @param onDemand deployments to prepare only if requests have used their origin and TLS settings.
   * @returns a function that uses the prepared deployments. Connection pools with the same origin, TLS
   *   and forward proxy stay open. Other pools close after their last request.
   * @throws {Error} if a file cannot be read, and its earlier contents are not known.
   */
  prepare(deployments: readonly Deployment[], onDemand?: readonly Deployment[]): Steps<() => void>;
  /** Closes idle connections, and waits for the others. Later requests fail, because the proxy stops. */
  close(): Promise<void>;
}
