/** Sends small requests of the proxy itself, such as those for access tokens, and collects the answers. */
import type { Deployment, Timeouts, UpstreamTls } from '../../providers/deployment.js';
import type { ProxyError } from '../../errors/proxy-error.js';
import { withoutModelGroup } from '../model-group.js';
import type { Upstream } from '../upstream.js';

/** A request. */
interface SmallRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The complete answer. */
interface SmallAnswer {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** The options that are the same for all small requests of one deployment. */
export interface SmallPeer {
  readonly upstream: Pick<Upstream, 'send'>;
  /** Error messages contain the name of its provider. */
  readonly deployment: Deployment;
  readonly tls: UpstreamTls;
  /** Aborts the requests. */
  readonly signal: AbortSignal;
}

/** Maximum size of an answer. A token of a large identity provider has a few KB. */
const MAX_ANSWER_BYTES = 65_536;

/** Short timeouts, because requests of clients may wait for the answer. */
const timeouts: Timeouts = { connectMs: 5_000, firstByteMs: 10_000, idleMs: 5_000, totalMs: 10_000 };

/**
 * Sends a request. Does not follow redirects, because the request may contain a secret.
 * @throws {ProxyError} the connection failed, or the answer took too long.
 * @throws {Error} the answer is too large, or the request was aborted.
 */
export function sendSmall(
  { upstream, deployment, tls, signal }: SmallPeer,
  request: SmallRequest,
): Promise<SmallAnswer> {
  const { token: _token, query: _query, pathOf: _pathOf, ...rest } = deployment;
  const peer: Deployment = { ...rest, apiBase: request.url, apiKey: null, extraHeaders: {}, tls };
  return new Promise((resolve, reject) => {
    const abort = () => {
      call.abort();
      reject(new Error('the request was aborted'));
    };
    signal.addEventListener('abort', abort);
    let status = 0;
    let headers: readonly string[] = [];
    const chunks: Buffer[] = [];
    let length = 0;
    const call = upstream.send(
      {
        deployment: peer,
        method: request.method,
        url: request.url,
        headers: Object.entries({ 'accept-encoding': 'identity', ...request.headers }).flat(),
        body: [Buffer.from(request.body)],
        timeouts,
      },
      {
        onHead(givenStatus, givenHeaders) {
          status = givenStatus;
          headers = givenHeaders;
        },
        onData(chunk) {
          length += chunk.length;
          if (length <= MAX_ANSWER_BYTES) {
            chunks.push(chunk);
            return;
          }
          signal.removeEventListener('abort', abort);
          call.abort();
          reject(new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`));
        },
        onEnd() {
          signal.removeEventListener('abort', abort);
          resolve({ status, headers, body: Buffer.concat(chunks).toString() });
        },
        onError(error: ProxyError) {
          signal.removeEventListener('abort', abort);
          // Several deployments may share the credentials, so the model group of one of them would mislead.
          reject(error.withMessage(withoutModelGroup(error.message)));
        },
      },
    );
  });
}
