/** Authorized requests to the services of a cloud. */
import { setMaxListeners } from 'node:events';
import type { z } from 'zod';
import { withDeadline } from '@rackless/daemon/deadline.js';
import { NoEndpointError } from '../cloud/cloud-error.js';
import { cloudServices, type CloudService } from '../cloud/cloud-services.js';
import type { CloudSettings } from '../cloud/cloud-settings.js';
import { jsonOf, reasonOf } from './answer-text.js';
import { CloudFailure, RejectedCredentials } from './cloud-failure.js';
import { createExchange, type CloudAnswer, type CloudRequest, type CloudUpload, type Exchange } from './exchange.js';
import { authenticate, endpointOf, type CloudToken } from './identity.js';
import { MAX_RUNNING, type QueueName } from './request-queue.js';
import { sendWithRetries } from './retry.js';
import { Silence, type SilenceTimes } from './silence.js';

/** A request to a service, relative to its endpoint. */
export interface ServiceRequest extends Pick<CloudRequest, 'method' | 'body' | 'headBytes'> {
  /** Default: `compute`. */
  readonly service?: CloudService;
  /** Path below the endpoint, such as `/servers/detail`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The part of the cloud that Nova asks before it answers: `network` is Neutron, `host` is the compute host of the
   * server. Default: none. While this part is silent, only requests with the same value wait.
   */
  readonly relayedTo?: 'network' | 'host' | undefined;
}

/** A request whose body is a stream. */
interface UploadRequest extends Pick<CloudUpload, 'body' | 'signal'> {
  readonly service: CloudService;
  readonly path: string;
}

/** A session with one cloud. It requests tokens when it needs them. */
export interface CloudSession {
  /**
   * Sends a request to a service. After a 401 it gets another token and retries the request once.
   * @returns the answer, also if the service rejects the request.
   * @throws {CloudFailure} if the service does not answer in time, or cannot answer now: 401 again,
   *   429, 5xx except 501, or a redirect.
   * @throws {RejectedCredentials} if Keystone rejects the credentials.
   * @throws {CloudError} if the settings do not fit the cloud.
   */
  request(request: ServiceRequest): Promise<CloudAnswer>;
  /**
   * Sends a stream by PUT. The session cannot repeat the stream after a 401. So send another request shortly
   * before, which renews the token if necessary.
   * @returns as {@link request}.
   * @throws as {@link request}, and for each 401; the failure of the stream; the signal's reason.
   */
  upload(request: UploadRequest): Promise<CloudAnswer>;
  /**
   * Returns the id of the project; undefined if Keystone does not name it.
   * @throws as {@link request}.
   */
  projectId(): Promise<string | undefined>;
  /**
   * Returns whether the settings or the catalog have an endpoint of the service.
   * @throws as {@link request}; {CloudError} if its URL is invalid.
   */
  offers(service: CloudService): Promise<boolean>;
  /** Notices that Nova is silent: watches the waiting requests to Nova, except those that Nova relays to others. */
  readonly silence: Silence;
  /** Returns the status and the reason of an answer in one line, without secrets. */
  reason(answer: CloudAnswer): string;
  /** Ends all requests. */
  close(): void;
}

/**
 * After rejected credentials, the session makes no attempt for this time, because Keystone may lock
 * the account. Each further rejection doubles the pause, up to {@link MAX_REJECTED_PAUSE_MS}.
 */
const REJECTED_PAUSE_MS = 30_000;
const MAX_REJECTED_PAUSE_MS = 300_000;
/** Maximum number of simultaneous requests that a service relays to Neutron, and of those that it relays to hosts. */
export const MAX_RELAYED = 6;
/** Number of the latest tokens that `reason` masks in messages. No running request has an older token. */
const MAX_MASKED_TOKENS = 3;
/** Maximum pause that Keystone can request. A wrong date in Retry-After must not stop the daemon for days. */
const MAX_PAUSE_MS = 3_600_000;

/**
 * Creates a session. It does not connect yet.
 * @param timeoutMs time limit for a whole request, with a new token and all retries.
 * @param silenceTimes replaced in tests.
 */
export function createSession(
  settings: CloudSettings,
  { timeoutMs, silenceTimes }: { readonly timeoutMs: number; readonly silenceTimes?: SilenceTimes },
): CloudSession {
  const exchange = createExchange(settings.tls);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const tokens = createTokens(settings, { exchange, signal: closing.signal });
  const tokenWithin = (ms: number): Promise<CloudToken> => {
    const deadline = performance.now() + ms;
    return beforeDeadline(deadline, tokens.current(deadline));
  };
  const reason = (answer: CloudAnswer): string =>
    reasonOf(answer, [...settings.credentials.secrets, ...tokens.secrets()]);

  const attempt = async (
    request: ServiceRequest,
    deadline: number,
  ): Promise<CloudAnswer & { used: Promise<CloudToken> }> => {
    const used = tokens.current(deadline);
    // Another request, with a later deadline, may already wait for the same token. This request waits only until
    // its own deadline.
    const known = await beforeDeadline(deadline, used);
    const url = new URL(endpointOf(request.service ?? 'compute', known, settings) + request.path);
    for (const [name, value] of new URLSearchParams(request.query)) url.searchParams.append(name, value);
    const headers = { ...request.headers, 'x-auth-token': known.id };
    const { method, body, headBytes } = request;
    const limits = { deadline, signal: closing.signal };
    const sent = sendWithRetries(exchange, { method, url, headers, body, headBytes, queue: queueOf(request) }, limits);
    return { ...(await withServiceName(request.service ?? 'compute', sent)), used };
  };
  /** Returns the answer. @throws {CloudFailure} if the service cannot answer now. */
  const usable = <Answer extends CloudAnswer>(
    answer: Answer,
    { service = 'compute', method, path }: Pick<ServiceRequest, 'service' | 'method' | 'path'>,
  ): Answer => {
    const isFinal = answer.status !== 401 && answer.status !== 429 && answer.status < 500 && !isRedirect(answer);
    // 501: the service does not have the function.
    if (isFinal || answer.status === 501) return answer;
    const { title } = cloudServices[service];
    throw new CloudFailure('interrupted', `${method} ${path}: ${title} answers ${reason(answer)}`);
  };
  const answerTo = async (request: ServiceRequest): Promise<CloudAnswer> => {
    const deadline = performance.now() + timeoutMs;
    let answer = await attempt(request, deadline);
    if (answer.status === 401) {
      // Forgets only the rejected token, because another request may have renewed it already.
      tokens.forget(answer.used);
      answer = await attempt(request, deadline);
    }
    return answer;
  };
  const silence = new Silence(silenceTimes);
  return {
    silence,
    reason,
    request: async (request) => {
      const answer = await (isOfNovaAlone(request) ? silence.during(() => answerTo(request)) : answerTo(request));
      return usable(answer, request);
    },
    upload: async ({ service, path, body, signal }) => {
      const known = await tokenWithin(timeoutMs);
      const url = new URL(endpointOf(service, known, settings) + path);
      const headers = { 'x-auth-token': known.id };
      const answer = await withServiceName(service, exchange.upload({ method: 'PUT', url, headers, body, signal }));
      return usable(answer, { service, method: 'PUT', path });
    },
    projectId: async () => (await tokenWithin(timeoutMs)).projectId,
    offers: async (service) => hasEndpoint(service, await tokenWithin(timeoutMs), settings),
    close: () => {
      closing.abort();
      exchange.close();
    },
  };
}

function hasEndpoint(service: CloudService, token: CloudToken, settings: CloudSettings): boolean {
  try {
    endpointOf(service, token, settings);
    return true;
  } catch (error) {
    if (error instanceof NoEndpointError) return false;
    throw error;
  }
}

/** Gets tokens. Simultaneous callers share one. */
function createTokens(
  settings: CloudSettings,
  { exchange, signal }: { readonly exchange: Exchange; readonly signal: AbortSignal },
) {
  let token: Promise<CloudToken> | undefined;
  /** The last failure after which the session pauses. */
  let paused: { readonly error: Error; readonly until: number } | undefined;
  /** Number of rejections since the last token. */
  let rejections = 0;
  /** The ids of the last {@link MAX_MASKED_TOKENS} tokens, newest last. A running request may have any of them. */
  let ids: readonly string[] = [];

  /** Counts rejected credentials. Returns the pause after a failure; undefined if the next request may try again. */
  const pauseAfter = (error: Error): number | undefined => {
    if (error instanceof CloudFailure && error.pauseMs !== undefined) return Math.min(error.pauseMs, MAX_PAUSE_MS);
    if (!(error instanceof RejectedCredentials)) return undefined;
    rejections += 1;
    return Math.min(REJECTED_PAUSE_MS * 2 ** (rejections - 1), MAX_REJECTED_PAUSE_MS);
  };
  const newToken = async (deadline: number): Promise<CloudToken> => {
    if (paused !== undefined && performance.now() < paused.until) throw paused.error;
    try {
      const found = await authenticate(settings, exchange, { deadline, signal });
      paused = undefined;
      rejections = 0;
      ids = [...ids, found.id].slice(-MAX_MASKED_TOKENS);
      return found;
    } catch (error) {
      const pauseMs = error instanceof Error ? pauseAfter(error) : undefined;
      if (error instanceof Error && pauseMs !== undefined) paused = { error, until: performance.now() + pauseMs };
      throw error;
    }
  };
  const current = (deadline: number): Promise<CloudToken> => {
    if (token === undefined) {
      const next = newToken(deadline);
      token = next;
      next.catch(() => {
        if (token === next) token = undefined;
      });
    }
    return token;
  };
  return {
    /** Returns the stored token, or requests a new one. */
    current,
    /** Removes the stored token if it is still `used`, so that the next caller requests a new token. */
    forget: (used: Promise<CloudToken>): void => {
      if (token === used) token = undefined;
    },
    secrets: (): readonly string[] => ids,
  };
}

/** Adds the name of the service to a failure, because a user possibly does not know the service by its URL. */
async function withServiceName<T>(service: CloudService, sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    if (!(error instanceof CloudFailure) || error.kind === 'closed') throw error;
    throw new CloudFailure(error.kind, `${cloudServices[service].title}: ${error.message}`, { cause: error.cause });
  }
}

/** Waits for a token, at most until a deadline. @throws {CloudFailure} timeout, if the deadline passes first. */
async function beforeDeadline<T>(deadline: number, result: Promise<T>): Promise<T> {
  return await withDeadline(result, Math.max(0, deadline - performance.now()), () => {
    throw new CloudFailure('timeout', 'asking Keystone for a token: no answer in time');
  });
}

/** Each service has its own queue: a silent one must not block the others, even at the same host and port. */
const queueOf = ({ service = 'compute', relayedTo }: ServiceRequest): QueueName =>
  relayedTo === undefined
    ? { name: service, running: MAX_RUNNING }
    : { name: `${service} ${relayedTo}`, running: MAX_RELAYED };

/** Returns whether only Nova answers a request. A silent Neutron or compute host proves nothing about Nova. */
const isOfNovaAlone = ({ service = 'compute', relayedTo }: ServiceRequest): boolean =>
  service === 'compute' && relayedTo === undefined;

const isRedirect = ({ status }: CloudAnswer): boolean => status >= 300 && status < 400;

/** Returns the JSON of an answer with the status 200. @throws {CloudFailure} for any other answer. */
export function successOf(
  answer: CloudAnswer,
  what: string,
  session: Pick<CloudSession, 'reason'>,
  service: CloudService = 'compute',
): unknown {
  const body = answer.status === 200 ? jsonOf(answer) : undefined;
  if (body !== undefined) return body;
  const why = answer.status === 200 ? 'with a body that is not JSON' : session.reason(answer);
  throw new CloudFailure('interrupted', `${what}: ${cloudServices[service].title} answers ${why}`);
}

/**
 * Returns the JSON of an answer with the status 200, if it has the form.
 * @throws {CloudFailure} for any other answer.
 */
export function bodyOf<T>(
  schema: z.ZodType<T>,
  answer: CloudAnswer,
  session: Pick<CloudSession, 'reason'>,
  service: CloudService = 'compute',
): T {
  const parsed = schema.safeParse(successOf(answer, `asking ${cloudServices[service].title}`, session, service));
  if (parsed.success) return parsed.data;
  throw unexpectedForm(parsed.error.issues[0]?.path ?? [], service);
}

/** Returns the failure for an answer whose form is unexpected at the given path. */
export function unexpectedForm(path: readonly PropertyKey[], service: CloudService = 'compute'): CloudFailure {
  const place = path.map(String).join('.');
  const { title } = cloudServices[service];
  return new CloudFailure('interrupted', `asking ${title}: its answer has an unexpected form at ${place}`);
}
