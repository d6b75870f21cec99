/** The one way to an upstream: what it is asked, and what it is told of. Callbacks instead of streams: proxy-performance, measured. */
import type { ProxyError } from '../errors.js';
import type { Deployment, Timeouts } from '../providers/deployment.js';
import type { BodyStream } from './body-stream.js';

export interface UpstreamRequest {
  readonly deployment: Deployment;
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  /** Name, value, name, value; lower-case names; without host, content-length and hop-by-hop headers. */
  readonly headers: readonly string[];
  /**
   * Buffers are sent one after the other as one body with a Content-Length; they are not changed by the callee, and kept for a later
   * retry. A stream is sent as it comes, over a connection of its own, and never repeated; it is destroyed with the request.
   */
  readonly body: readonly Buffer[] | BodyStream;
  readonly timeouts: Timeouts;
  /** What holds in their place once a stream is whole: only then all is known that was asked for. */
  readonly timeoutsOfWhole?: () => Timeouts;
}

/** Called in this order: head, data…, then end or error, and nothing after that or after an abort. */
export interface UpstreamHandler {
  /** @param headers name, value, name, value; names lower case. Interim answers (1xx) are left out. */
  onHead(status: number, headers: readonly string[]): void;
  /** Bytes as they arrive. After {@link UpstreamCall.pause} at most what had been read already still comes. */
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** Already classified: a {@link ProxyError} of kind connection, tls, timeout or malformedAnswer. */
  onError(error: ProxyError): void;
}

export interface UpstreamCall {
  /** Ends the upstream request at once, the connection with it unless it is still unused. Silent: no callback follows. */
  abort(): void;
  pause(): void;
  resume(): void;
}

/** A call whose request has a body in memory. */
export interface SentCall extends UpstreamCall {
  /** Behind the end of the answer: whether the request's body is read no more, by no socket either, so that its memory is free. */
  readonly hasLeftBody: boolean;
}

export interface Upstream {
  /** Starts a request; never throws, never calls back before it has returned. */
  send(request: UpstreamRequest, handler: UpstreamHandler): SentCall;
  /**
   * Takes over a new configuration's deployments: pools whose origin and TLS did not change are kept, others are closed when their
   * last request has ended. CA and key files are read again.
   */
  reload(deployments: readonly Deployment[]): void;
  /** Ends idle connections; waits for those in use. */
  close(): Promise<void>;
}
