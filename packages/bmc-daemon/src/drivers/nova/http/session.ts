/** Authorized requests to the services of a cloud. */
import { setMaxListeners } from 'node:events';
import { CloudError } from '../cloud/cloud-error.js';
import { cloudServices, type CloudService } from '../cloud/cloud-services.js';
import type { CloudSettings } from '../cloud/cloud-settings.js';
import { jsonOf, reasonOf } from './answer-text.js';
import { CloudFailure, RejectedCredentials } from './cloud-failure.js';
import { createExchange, type CloudAnswer, type CloudRequest } from './exchange.js';
import { authenticate, endpointOf, type Token } from './identity.js';
import { sendWithRetries } from './retry.js';

/** A request to a service, relative to its endpoint. */
interface ServiceRequest extends Pick<CloudRequest, 'method' | 'body'> {
  /** Default: `compute`. */
  readonly service?: CloudService;
  /** Path below the endpoint: `/servers/detail`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A session with one cloud. It gets tokens as it needs them. */
export interface CloudSession {
  /**
   * Sends a request to a service. After a 401 it gets another token and repeats the request once.
   * @returns the answer with any other status below 500.
   * @throws {CloudFailure} if no service answers in time, or if one cannot answer now.
   * @throws {RejectedCredentials} if Keystone rejects the credentials.
   * @throws {CloudError} if the settings do not fit the cloud.
   */
  request(request: ServiceRequest): Promise<CloudAnswer>;
  /** Returns whether the catalog has the service. @throws as {@link CloudSession.request}. */
  offers(service: CloudService): Promise<boolean>;
  /** Returns the reason of an answer in one line, without secrets. */
  reason(answer: CloudAnswer): string;
  /** Ends all requests. */
  close(): void;
}

/** Time without another attempt after rejected credentials. Keystone may lock the account. */
const REJECTED_PAUSE_MS = 30_000;

/**
 * Creates a session. It does not connect yet.
 * @param timeoutMs for a whole request, with a new token and all repetitions.
 */
export function createSession(settings: CloudSettings, { timeoutMs }: { readonly timeoutMs: number }): CloudSession {
  const exchange = createExchange(settings.tls);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  let token: Promise<Token> | undefined;
  let rejected: { readonly error: RejectedCredentials; readonly at: number } | undefined;
  let tokenId = '';

  const newToken = async (deadline: number): Promise<Token> => {
    if (rejected !== undefined && performance.now() - rejected.at < REJECTED_PAUSE_MS) throw rejected.error;
    try {
      const found = await authenticate(settings, exchange, { deadline, signal: closing.signal });
      rejected = undefined;
      tokenId = found.id;
      return found;
    } catch (error) {
      if (error instanceof RejectedCredentials) rejected = { error, at: performance.now() };
      throw error;
    }
  };
  const currentToken = (deadline: number): Promise<Token> => {
    if (token === undefined) {
      const next = newToken(deadline);
      token = next;
      next.catch(() => {
        if (token === next) token = undefined;
      });
    }
    return token;
  };
  const secrets = (): readonly string[] => [...settings.credentials.secrets, ...(tokenId === '' ? [] : [tokenId])];
  const reason = (answer: CloudAnswer): string => reasonOf(answer, secrets());

  const attempt = async (
    request: ServiceRequest,
    deadline: number,
  ): Promise<CloudAnswer & { used: Promise<Token> }> => {
    const used = currentToken(deadline);
    // The request that began to get the token may have a later deadline.
    const known = await before(deadline, used);
    const url = new URL(endpointOf(request.service ?? 'compute', known, settings) + request.path);
    for (const [name, value] of new URLSearchParams(request.query)) url.searchParams.append(name, value);
    const headers = { ...request.headers, 'x-auth-token': known.id };
    const { method, body } = request;
    const limits = { deadline, signal: closing.signal };
    return { ...(await sendWithRetries(exchange, { method, url, headers, body }, limits)), used };
  };
  return {
    reason,
    request: async (request) => {
      const deadline = performance.now() + timeoutMs;
      let answer = await attempt(request, deadline);
      if (answer.status === 401) {
        // Another request may have renewed it.
        if (token === answer.used) token = undefined;
        answer = await attempt(request, deadline);
      }
      if (answer.status === 401 || answer.status === 429 || answer.status >= 500 || isRedirect(answer)) {
        const { title } = cloudServices[request.service ?? 'compute'];
        throw new CloudFailure('interrupted', `${request.method} ${request.path}: ${title} answers ${reason(answer)}`);
      }
      return answer;
    },
    offers: async (service) => {
      const deadline = performance.now() + timeoutMs;
      const known = await before(deadline, currentToken(deadline));
      try {
        endpointOf(service, known, settings);
        return true;
      } catch (error) {
        if (error instanceof CloudError) return false;
        throw error;
      }
    },
    close: () => {
      closing.abort();
      exchange.close();
    },
  };
}

/** Waits until a deadline. @throws {CloudFailure} after it. */
async function before<T>(deadline: number, result: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const fail = (): void => reject(new CloudFailure('timeout', 'asking Keystone for a token: no answer in time'));
    timer = setTimeout(fail, Math.max(0, deadline - performance.now()));
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

const isRedirect = ({ status }: CloudAnswer): boolean => status >= 300 && status < 400;

/** Returns the JSON of a successful answer. @throws {CloudFailure} for any other answer. */
export function successOf(
  answer: CloudAnswer,
  what: string,
  session: Pick<CloudSession, 'reason'>,
  service: CloudService = 'compute',
): unknown {
  const body = answer.status === 200 ? jsonOf(answer) : undefined;
  if (body !== undefined) return body;
  const why = answer.status === 200 ? 'what is not JSON' : session.reason(answer);
  throw new CloudFailure('interrupted', `${what}: ${cloudServices[service].title} answers ${why}`);
}
