/**
 * Makes the requests that http-proxy-middleware gets. They replace the client's request, so that
 * nothing of it is forwarded by accident.
 */
import type { Agent, IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Options } from 'http-proxy-middleware';
import type { Way } from '../upstream/send.js';

/** The head of the request to the upstream. */
export interface RawPlan {
  readonly way: Way;
  readonly method: string;
  /** Absolute URL with its query. */
  readonly url: string;
  readonly headers: NonNullable<Options['headers']>;
}

/**
 * The body of a request, with the properties that http-proxy 1.18 reads. The method here is always
 * `GET`; the options have the real method. For DELETE and OPTIONS without a Content-Length,
 * http-proxy would announce `content-length: 0` but send the body, which the upstream would read as
 * another request.
 */
export class RawRequest extends PassThrough {
  readonly method = 'GET';
  readonly httpVersion = '1.1';
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  /**
   * Not the client's socket: http-proxy-middleware would add a listener to its server for each
   * request.
   */
  readonly socket = { destroyed: false };

  constructor(plan: RawPlan, headers: Readonly<Record<string, string>> = {}) {
    super();
    this.headers = headers;
    this.url = requestTarget(plan);
    // The users of both ends report errors.
    this.on('error', () => undefined);
  }

  /**
   * Returns this object with the type that http-proxy-middleware declares. The library reads no
   * other properties.
   */
  get asMessage(): IncomingMessage {
    return this as unknown as IncomingMessage;
  }
}

/** Returns the options of http-proxy-middleware for a request or a WebSocket. */
export function proxyOptions({ way, method, headers }: RawPlan, agent: Agent) {
  const { hostname, port, tls } = way.peer;
  return {
    target: { protocol: tls === null ? 'http:' : 'https:', host: hostname, port },
    agent,
    method,
    headers,
    // The URL already contains the target. Without this, Node's old URL parser would change some
    // URLs.
    toProxy: true,
    selfHandleResponse: true,
    // Removes the library's listeners, whose answers are not JSON.
    ejectPlugins: true,
  } satisfies Options;
}

function requestTarget({ way, url }: RawPlan): string {
  if (way.absolute !== null) return url;
  return url.slice(url.indexOf('/', url.indexOf('://') + '://'.length));
}
