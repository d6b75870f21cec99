/** A request as http-proxy-middleware gets it: a stand-in for the client's, so that nothing of the client's goes on by accident. */
import type { Agent, IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Options } from 'http-proxy-middleware';
import type { Way } from '../upstream/send.js';

/** What is sent upstream. */
export interface RawPlan {
  readonly way: Way;
  readonly method: string;
  /** Absolute, with its query. */
  readonly url: string;
  readonly headers: NonNullable<Options['headers']>;
}

/**
 * Has what http-proxy 1.18 reads of a request, and is the body besides. `GET` whatever the method is: for DELETE and OPTIONS without a
 * Content-Length http-proxy would announce `content-length: 0` and then send the body all the same, which the upstream would read as
 * another request. The true method is among the options.
 */
export class RawRequest extends PassThrough {
  readonly method = 'GET';
  readonly httpVersion = '1.1';
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  /** Not the client's: http-proxy-middleware would hang a listener on its server with every request. */
  readonly socket = { destroyed: false };

  constructor(plan: RawPlan, headers: Readonly<Record<string, string>> = {}) {
    super();
    this.headers = headers;
    this.url = requestTarget(plan);
    // Both ends are told by who uses it.
    this.on('error', () => undefined);
  }

  /** http-proxy-middleware declares Node's own class, and reads no more of it than there is here. */
  get asMessage(): IncomingMessage {
    return this as unknown as IncomingMessage;
  }
}

/** The options that one request is passed on with, by any of http-proxy's ways. */
export function proxyOptions({ way, method, headers }: RawPlan, agent: Agent) {
  const { hostname, port, tls } = way.peer;
  return {
    target: { protocol: tls === null ? 'http:' : 'https:', host: hostname, port },
    agent,
    method,
    headers,
    // The target is in the URL already, and Node's old parser of URLs, which would change some, is not asked.
    toProxy: true,
    selfHandleResponse: true,
    // Its own answers are no JSON, and its own listeners say nothing that is not said here.
    ejectPlugins: true,
  } satisfies Options;
}

function requestTarget({ way, url }: RawPlan): string {
  if (way.absolute !== null) return url;
  return url.slice(url.indexOf('/', url.indexOf('://') + '://'.length));
}
