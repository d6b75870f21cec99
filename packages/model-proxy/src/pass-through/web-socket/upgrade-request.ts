/**
 * Makes the handshakes for http-proxy-middleware, and the head of the answer to the client. The library gets a
 * handshake and not the client's request. So the library cannot forward a header of the client that the proxy removed.
 */
import type { Agent, IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Options } from 'http-proxy-middleware';
import { AnswerFault } from '../../upstream/connection/answer-fault.js';
import { codeOf } from '../../upstream/peer.js';
import type { Connector } from '../../upstream/targets.js';

/** The handshake for the upstream. */
export interface UpgradePlan {
  readonly connector: Connector;
  /** Absolute URL with its query. */
  readonly url: string;
  readonly headers: NonNullable<Options['headers']>;
}

/** A request with the properties that http-proxy 1.18 reads. It has no body. */
export class UpgradeRequest extends PassThrough {
  readonly method = 'GET';
  readonly httpVersion = '1.1';
  readonly headers = { upgrade: 'websocket' };
  readonly url: string;
  /**
   * Replaces the client's socket, because http-proxy-middleware would add a listener to the server of
   * that socket for each request.
   */
  readonly socket = { destroyed: false };

  constructor(plan: UpgradePlan) {
    super();
    this.url = requestTarget(plan);
    // Without a listener, an error would end the process. Other listeners report the errors of both sockets.
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

/** Returns the options of http-proxy-middleware for a handshake. */
export function proxyOptions({ connector, headers }: UpgradePlan, agent: Agent) {
  const { hostname, port, tls } = connector.peer;
  return {
    target: { protocol: tls === null ? 'http:' : 'https:', host: hostname, port },
    agent,
    headers,
    // With this option, http-proxy sends the URL of the request unchanged. By default, it parses the URL with Node's
    // old parser, which changes some URLs.
    toProxy: true,
    // Removes the library's listeners, whose answers are not JSON.
    ejectPlugins: true,
  } satisfies Options;
}

function requestTarget({ connector, url }: UpgradePlan): string {
  if (connector.absolute !== null) return url;
  return url.slice(url.indexOf('/', url.indexOf('://') + '://'.length));
}

/**
 * Converts faults of Node's parser to those of the proxy's parser. Returns other errors unchanged.
 */
export function asAnswerFault(error: Error): Error {
  const code = codeOf(error);
  if (!code.startsWith('HPE_')) return error;
  return new AnswerFault(code === 'HPE_HEADER_OVERFLOW' ? 'head' : 'http', error.message, error);
}

/**
 * Makes the head of a 101 for the client. During a shutdown, `headers` contains `connection: close`, which would
 * be wrong here.
 * @param headers name, value, name, value.
 */
export function switchingHead(headers: readonly string[]): string {
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name !== 'connection') lines.push(`${name}: ${headers[index + 1] ?? ''}`);
  }
  return `${[...lines, 'connection: Upgrade', 'upgrade: websocket'].join('\r\n')}\r\n\r\n`;
}
