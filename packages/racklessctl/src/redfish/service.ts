/** One Redfish service: reads and writes resources, with a session if there are credentials. */
import { parseJson } from '@rackless/daemon/text/json.js';
import { retryAfterMs } from '@rackless/daemon/http/retry-after.js';
import { CommandFailure, exitCode } from '../failure.js';
import { Exchange, type Answer, type OpenAnswer, type ServiceRequest } from './exchange.js';
import { reasonOf } from './error-texts.js';
import { linkPath } from './link-path.js';
import { asResource, linkAt, textAt, type Resource } from './resource.js';
import type { Credentials, ServiceOptions } from './service-options.js';
import { graceAfter, wait } from './wait.js';

/** A resource and its ETag, which a write may send. */
interface ReadResource {
  readonly resource: Resource;
  readonly etag: string | undefined;
}

/** An answer to a write. */
export interface WriteAnswer {
  readonly status: number;
  readonly headers: Answer['headers'];
  readonly body: Resource;
}

/** The path that DSP0266 prescribes; all other paths come from links. */
const ROOT = '/redfish/v1/';
const MAX_REDIRECTS = 5;
/** Statuses that mean: the service does not have the resource, or does not show it. */
const HIDDEN: ReadonlySet<number> = new Set([403, 404, 405, 501]);
/** Maximum number of repetitions of a GET that the service answers with 503 or 429. */
const MAX_RETRIES = 3;
/** Milliseconds for the request that ends the session, and for a running login after an interruption. */
const LOGOUT_MS = 5000;

const unavailable = (message: string): CommandFailure => new CommandFailure(exitCode.unavailable, message);

/** Connects to a service, and logs in if there are credentials. The caller closes it. @throws {CommandFailure} */
export async function openService(options: ServiceOptions): Promise<Service> {
  const service = new Service(options);
  try {
    await service.start();
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** An open service. */
export class Service {
  readonly #options: ServiceOptions;
  readonly #exchange: Exchange;
  #authorization: Readonly<Record<string, string>> = {};
  #session: string | undefined;
  #renewal: Promise<void> | undefined;
  #root: Resource = {};

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#exchange = new Exchange(options.endpoint);
  }

  /** The service root. */
  get root(): Resource {
    return this.#root;
  }

  /** `https://192.0.2.1:8000`, without a path. */
  get origin(): URL {
    return this.#options.endpoint.origin;
  }

  /** Aborts when the command is interrupted. */
  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** Maximum time of a request, in milliseconds. */
  get timeoutMs(): number {
    return this.#options.endpoint.timeoutMs;
  }

  /** The user of the credentials; undefined if there are none. */
  get user(): string | undefined {
    return this.#options.credentials?.user;
  }

  /** Returns the path and query of a link within this service. @throws {CommandFailure} */
  pathOf(link: string): string {
    return linkPath(link, this.origin);
  }

  /** Reads the service root and logs in. {@link openService} calls it. */
  async start(): Promise<void> {
    this.#root = await this.get(ROOT);
    if (textAt(this.#root, 'RedfishVersion') === undefined && linkAt(this.#root, 'Systems') === undefined)
      throw unavailable(`${this.origin.origin} has no Redfish service: ${ROOT} is not a service root`);
    const { credentials } = this.#options;
    if (credentials === undefined) return;
    const sessions = linkAt(this.#root, 'Links', 'Sessions');
    if (credentials.method === 'basic' || sessions === undefined) {
      const { user, password } = credentials;
      this.#authorization = { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
      return;
    }
    await this.#logIn(credentials, sessions);
  }

  async #logIn({ user, password }: Credentials, sessions: string): Promise<void> {
    this.#authorization = {};
    const grace = graceAfter(this.signal, LOGOUT_MS);
    const answer = await this.#send('POST', sessions, {
      body: { UserName: user, Password: password },
      signal: grace.signal,
    }).finally(grace.end);
    const token = answer.headers['x-auth-token'];
    if (answer.status === 401 || answer.status === 403)
      throw new CommandFailure(
        exitCode.denied,
        `${this.origin.origin} rejects the user '${user}': ${reasonOf(answer.status, answer.text)}`,
      );
    if (answer.status >= 400) throw this.#rejection('logging in', sessions, answer);
    if (typeof token !== 'string')
      throw unavailable(`${this.origin.origin} returned no token for the session. Try --auth basic`);
    this.#authorization = { 'X-Auth-Token': token };
    this.#session = answer.headers.location ?? linkAt(asResource(parseJson(answer.text)));
    this.signal.throwIfAborted();
  }

  /** Reads a resource. @throws {CommandFailure} */
  async get(path: string): Promise<Resource> {
    return (await this.read(path)).resource;
  }

  /** Reads a resource and its ETag. @throws {CommandFailure} */
  async read(path: string): Promise<ReadResource> {
    const answer = await this.receive(path);
    const resource = this.#resource(path, answer);
    return { resource, etag: answer.headers.etag ?? textAt(resource, '@odata.etag') };
  }

  #resource(path: string, answer: Answer): Resource {
    if (answer.status >= 400) throw this.#rejection('reading', path, answer);
    const resource = parseJson(answer.text);
    if (typeof resource === 'object' && resource !== null && !Array.isArray(resource)) return asResource(resource);
    const type = answer.headers['content-type'] ?? 'without a content type';
    throw unavailable(`reading ${path}: the answer is not a JSON object (${answer.status}, ${type})`);
  }

  /** Reads a resource; undefined if it is missing, hidden or not JSON. @throws {CommandFailure} for other failures. */
  async find(path: string): Promise<Resource | undefined> {
    const answer = await this.receive(path);
    if (HIDDEN.has(answer.status)) return undefined;
    if (answer.status >= 400) throw this.#rejection('reading', path, answer);
    const body = parseJson(answer.text);
    return body === undefined ? undefined : asResource(body);
  }

  /**
   * Reads a member of a collection; undefined if the service does not have it or does not show it.
   * @param retryUntil as in {@link receive}.
   * @throws {CommandFailure} also if the answer is not a JSON object.
   */
  async findMember(path: string, retryUntil: number): Promise<Resource | undefined> {
    const answer = await this.receive(path, retryUntil);
    return HIDDEN.has(answer.status) ? undefined : this.#resource(path, answer);
  }

  /**
   * Sends a GET, and returns the answer, also one with an error status. Follows redirects within the service. If the
   * service is busy (429, 503), waits and repeats the GET up to three times; all pauses together last at most
   * {@link timeoutMs}. If the session has ended (401), logs in again once.
   * @param retryUntil time of `performance.now()` after which a 503 is not repeated. A 429 concerns
   *   the client, not the resource, so it has no such limit.
   * @throws {CommandFailure} if there is no answer, if a redirect leads to another service, if there are too
   *   many redirects, or if the new login fails.
   */
  async receive(path: string, retryUntil = Infinity): Promise<Answer> {
    let current = this.pathOf(path);
    let redirects = 0;
    let isRenewed = false;
    for (let retries = 0, pausedMs = 0; ;) {
      const answer = await this.#send('GET', current);
      const { status, headers } = answer;
      const pauseMs = Math.min(retryAfterMs(headers, Date.now()) ?? 1000, this.timeoutMs);
      const mayPause = retries < MAX_RETRIES && pausedMs + pauseMs <= this.timeoutMs;
      const isBusy = status === 429 || (status === 503 && performance.now() + pauseMs <= retryUntil);
      if (status >= 300 && status < 400 && headers.location !== undefined) {
        const base = new URL(current, this.origin);
        const next = linkPath(headers.location, base);
        const target = new URL(headers.location, base);
        if (target.origin !== this.origin.origin)
          throw unavailable(`${this.origin.origin} redirects to ${target.origin}: use that address instead`);
        redirects += 1;
        if (redirects > MAX_REDIRECTS)
          throw unavailable(`reading ${path}: there are more than ${MAX_REDIRECTS} redirects`);
        current = next;
      } else if (isBusy && mayPause) {
        retries += 1;
        pausedMs += pauseMs;
        await wait(pauseMs, this.signal).finally(this.#options.onPause?.(status, pauseMs));
      } else if (status === 401 && this.#session !== undefined && !isRenewed) {
        isRenewed = true;
        await this.renewSession();
      } else return answer;
    }
  }

  /**
   * Logs in again. A command may run for longer than its session, and a service that restarts forgets the session.
   * Several requests that fail at the same time share one login. Does nothing if there is no session.
   * @throws {CommandFailure}
   */
  async renewSession(): Promise<void> {
    const { credentials } = this.#options;
    const sessions = linkAt(this.#root, 'Links', 'Sessions');
    if (credentials === undefined || sessions === undefined || this.#session === undefined) return;
    this.#renewal ??= this.#logIn(credentials, sessions).finally(() => (this.#renewal = undefined));
    await this.#renewal;
  }

  /**
   * Sends a GET for a stream of events, and returns the answer with any status. The caller destroys the stream.
   * @throws {CommandFailure} if there is no answer.
   */
  async stream(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<OpenAnswer> {
    return this.#exchange.open(this.#request('GET', path, { headers, signal }));
  }

  /** Executes an action or creates a member. @throws {CommandFailure} with `doing` and the reason of the service. */
  async post(path: string, body: Resource, doing: string): Promise<WriteAnswer> {
    return this.#accepted(await this.#send('POST', path, { body }), doing, path);
  }

  /**
   * Reads the ETag of a resource, and changes the resource with it. If the resource changed meanwhile, reads the ETag
   * again and repeats the change once, and a second time if the service accepts no weak ETag.
   * @throws {CommandFailure} as {@link post}, and if the resource cannot be read.
   */
  async patch(path: string, body: Resource, doing: string): Promise<WriteAnswer> {
    let answer = await this.#patchWith((await this.read(path)).etag, path, body);
    if (answer.status === 412) {
      const { etag } = await this.read(path);
      answer = await this.#patchWith(etag, path, body);
      // Some services send weak ETags, but accept only strong ones. So the third request has a strong one.
      if (answer.status === 412 && etag?.startsWith('W/') === true)
        answer = await this.#patchWith(etag.slice(2), path, body);
    }
    return this.#accepted(answer, doing, path);
  }

  #patchWith(etag: string | undefined, path: string, body: Resource): Promise<Answer> {
    return this.#send('PATCH', path, { body, headers: etag === undefined ? {} : { 'If-Match': etag } });
  }

  #accepted(answer: Answer, doing: string, path: string): WriteAnswer {
    if (answer.status >= 300) throw this.#rejection(doing, path, answer);
    return { status: answer.status, headers: answer.headers, body: asResource(parseJson(answer.text)) };
  }

  #rejection(doing: string, path: string, { status, text }: Answer): CommandFailure {
    const reason = reasonOf(status, text);
    if (status === 401) {
      const hint = this.#options.credentials === undefined ? ' (set a user with --user or in the context)' : '';
      return new CommandFailure(
        exitCode.denied,
        `${doing} ${path}: the service rejects the credentials: ${reason}${hint}`,
      );
    }
    const code = status === 403 ? exitCode.denied : exitCode.failed;
    return new CommandFailure(code, `${doing === 'reading' ? `reading ${path}` : doing}: ${reason}`);
  }

  #send(method: ServiceRequest['method'], path: string, extra: Partial<ServiceRequest> = {}): Promise<Answer> {
    return this.#exchange.send(this.#request(method, path, extra));
  }

  #request(method: ServiceRequest['method'], link: string, extra: Partial<ServiceRequest>): ServiceRequest {
    return {
      method,
      path: this.pathOf(link),
      signal: this.signal,
      ...extra,
      headers: { ...this.#authorization, ...extra.headers },
    };
  }

  /** Ends the session, even after an interruption, and ignores a failure. Then closes the connections. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    try {
      if (session !== undefined) await this.#send('DELETE', session, { signal: AbortSignal.timeout(LOGOUT_MS) });
    } catch {
      // The command already has its result, and the service itself ends an idle session after some time.
    } finally {
      this.#exchange.close();
    }
  }
}
