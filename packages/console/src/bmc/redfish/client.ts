/** Requests of the pages. This folder is the only place that sends requests to the service. */
import { signal } from '@preact/signals';
import { loginState, refreshPrivileges, renewLogin, token } from './session.js';
import { redfishTexts } from '../../texts/index.js';
import { exchange, open, RedfishFailure, type Reply, type WireRequest } from './wire.js';

/** Options of a request. */
type SendOptions = Pick<WireRequest, 'headers' | 'body' | 'signal' | 'deadlineMs'>;

/**
 * A request that changes something, for the `curl` line that the pages show. The pages do not show requests with a part
 * of a file.
 */
interface LastAction {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** The last request that changes something; null: none yet. */
export const lastAction = signal<LastAction | null>(null);

/**
 * Sends a request. After a 401, waits until the user has logged in again, and repeats the request.
 * @throws {RedfishFailure} if the service answers with another error, or not at all.
 * @throws {DOMException} `AbortError` if the caller aborts.
 */
export async function send<Body>(method: string, path: string, options: SendOptions = {}): Promise<Reply<Body>> {
  const isShown = method !== 'GET' && method !== 'HEAD' && !(options.body instanceof Blob);
  if (isShown) lastAction.value = { method, path, body: options.body };
  return repeatAfterLogin(options.signal, (used) => exchange<Body>({ ...options, method, path, token: used }));
}

/**
 * Opens a stream with GET, such as Server-Sent Events. After a 401, waits for a new login like `send`.
 * @throws {RedfishFailure} if the service answers with another error.
 * @throws the error of `fetch`, if there is no answer or the signal aborts.
 */
export function openStream(
  path: string,
  options: Pick<WireRequest, 'headers'> & { readonly signal: AbortSignal },
): Promise<Response> {
  return repeatAfterLogin(options.signal, (used) => open({ ...options, method: 'GET', path, token: used }));
}

/** Reads a resource. @throws as {@link send}. */
export async function get<Body>(path: string, signal?: AbortSignal): Promise<Body> {
  return (await send<Body>('GET', path, { signal })).body;
}

/** Reads a resource with its ETag, for a later `patch`. @throws as {@link send}. */
export function getWithEtag<Body>(path: string, signal?: AbortSignal): Promise<Reply<Body>> {
  return send<Body>('GET', path, { signal });
}

/**
 * Changes a resource.
 * @param etag the version that the user saw. The service rejects the change with 412 if there is a newer version. null
 *   or undefined: the service does not compare the version.
 * @throws as {@link send}. For 412, the message says that another client changed the resource.
 */
export async function patch<Body>(path: string, body: object, etag?: string | null): Promise<Reply<Body>> {
  try {
    return await send<Body>('PATCH', path, {
      body,
      ...(etag === undefined || etag === null ? {} : { headers: { 'If-Match': etag } }),
    });
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.status !== 412) throw error;
    const message = { text: redfishTexts.changedMeanwhile, resolution: '', properties: [] };
    throw new RedfishFailure(412, [message], { cause: error });
  }
}

/** Creates a member of a collection, or performs an action. @throws as {@link send}. */
export function post<Body>(path: string, body: object = {}): Promise<Reply<Body>> {
  return send<Body>('POST', path, { body });
}

/** Deletes a resource. @throws as {@link send}. */
export async function remove(path: string): Promise<void> {
  await send('DELETE', path);
}

/** A collection with expanded members. */
interface Collection<Member> {
  readonly Members: readonly Member[];
  readonly 'Members@odata.nextLink'?: string;
}

/** Options of {@link members}. */
interface MembersOptions {
  /** The properties to read, such as `['Id', 'Boot/BootOrder']`. Default: all. */
  readonly select?: readonly string[];
  /** Selects members, such as `ChassisType eq 'Enclosure'`. Default: all members. */
  readonly filter?: string | undefined;
  /** Number of members on each page. Default: 100. */
  readonly pageSize?: number;
  /** Number of members on the first page, which the user sees first. Default: `pageSize`. */
  readonly firstSize?: number;
  readonly signal?: AbortSignal;
}

/**
 * Returns whether the service expanded a member. If it could not read the member, or if the role may not read it, the
 * service sends only a link and a message.
 */
export const isExpanded = (member: object): boolean => '@odata.type' in member;

/**
 * Reads the members of a collection with their properties, page by page. See {@link isExpanded}.
 * @throws as {@link send}.
 */
export async function* members<Member>(
  path: string,
  { select, filter, pageSize = 100, firstSize = pageSize, signal }: MembersOptions = {},
): AsyncGenerator<readonly Member[]> {
  const selected = select?.map((property) => `Members/${property}`).join(',');
  const filtered = filter === undefined ? '' : `&$filter=${encodeURIComponent(filter)}`;
  const query = `$expand=.($levels=1)${filtered}${selected === undefined ? '' : `&$select=${selected}`}`;
  let next: string | undefined = `${path}?${query}&$top=${firstSize}`;
  for (let isFirst = true; next !== undefined; isFirst = false) {
    const page: Collection<Member> = await get(next, signal);
    yield page.Members;
    next = page['Members@odata.nextLink'];
    // The service's link keeps the size of the first page, so a query of our own replaces it.
    if (next !== undefined && isFirst && firstSize !== pageSize) {
      next = `${path}?${query}&$skip=${firstSize}&$top=${pageSize}`;
    }
  }
}

async function repeatAfterLogin<T>(
  signal: AbortSignal | undefined,
  request: (token: string | null) => Promise<T>,
): Promise<T> {
  for (;;) {
    // While the login dialog is open, further requests wait for the login.
    if (loginState.value.kind === 'loggedOut') await renewLogin(null, signal);
    const used = token();
    try {
      return await request(used);
    } catch (error) {
      // The page offers an action that the role of the user no longer allows, so it reads the privileges again.
      if (error instanceof RedfishFailure && error.status === 403) void refreshPrivileges();
      if (!(error instanceof RedfishFailure) || error.status !== 401) throw error;
      await renewLogin(used, signal);
    }
  }
}
