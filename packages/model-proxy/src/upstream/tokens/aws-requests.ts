/** Sends the requests of AWS's credential packages over the connections of the proxy. */
import { Readable } from 'node:stream';
import { HttpResponse, type HttpRequest } from '@smithy/core/protocols';
import { sendSmall, type SmallPeer } from './small-request.js';

/** The handler that AWS's packages expect, and what happened to its requests. */
export class AwsRequests {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #peer: SmallPeer;
  #lastStatus: number | null = null;
  #isUnanswered = false;

  constructor(peer: SmallPeer) {
    this.#peer = peer;
  }

  /** Status of the last request's answer; null: there was no request, or it got no answer. */
  get lastStatus(): number | null {
    return this.#lastStatus;
  }

  /** Whether the last request got no usable answer. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  /** Sends a request. @throws {ProxyError} and {Error} as {@link sendSmall}. */
  async handle(request: HttpRequest): Promise<{ response: HttpResponse }> {
    this.#lastStatus = null;
    this.#isUnanswered = true;
    const { status, headers, body } = await sendSmall(this.#peer, {
      method: request.method,
      url: urlOf(request),
      // The connections set these two.
      headers: Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !/^(?:host|content-length)$/i.test(name)),
      ),
      body: bodyText(request.body),
    });
    this.#lastStatus = status;
    this.#isUnanswered = false;
    const received: Record<string, string> = {};
    for (let at = 0; at + 1 < headers.length; at += 2)
      received[(headers[at] ?? '').toLowerCase()] = headers[at + 1] ?? '';
    return {
      response: new HttpResponse({ statusCode: status, headers: received, body: Readable.from([Buffer.from(body)]) }),
    };
  }

  // AWS's clients call these two functions with settings for connections. The proxy's connections ignore them.
  readonly updateHttpClientConfig = (): undefined => undefined;
  httpHandlerConfigs(): object {
    return {};
  }
}

function urlOf({ protocol, hostname, port, path, query }: HttpRequest): string {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
  for (const [name, values] of Object.entries(query))
    for (const value of Array.isArray(values) ? values : [values ?? '']) url.searchParams.append(name, value);
  return url.href;
}

/** Returns a body as text. The requests are forms, JSON texts, or have no body. */
function bodyText(body: unknown): string {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Buffer.from(body).toString() : '';
}
