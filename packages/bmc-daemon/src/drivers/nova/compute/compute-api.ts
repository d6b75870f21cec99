/**
 * The calls of Nova's API.
 * @see https://docs.openstack.org/api-ref/compute/
 */
import { z } from 'zod';
import { listOf, textsSchema, type IgnoredLog } from '../http/answer-forms.js';
import { jsonOf } from '../http/answer-text.js';
import { CloudFailure } from '../http/cloud-failure.js';
import { PageWalk } from '../http/page-walk.js';
import { shortLine } from '../http/plain-text.js';
import { bodyOf, successOf, unexpectedForm, type CloudSession } from '../http/session.js';
import type { CloudAnswer } from '../http/exchange.js';
import type { ActionRecord } from '../../hypervisor-logs.js';
import { actionListSchema, actionRecords, MAX_ACTIONS } from './action-records.js';
import type { MachineStatistics } from '../../statistics-control.js';
import type { GraphicalConsoleAccess } from '../../graphical-console-control.js';
import { consoleSchema, type ConsoleKind } from './remote-console.js';
import { CONSOLE_LINES, consoleBytes } from './console-output.js';
import { createComputeRequests, VERSION_MS, type ComputeRequests } from './compute-requests.js';
import { diagnosticsSchema, statisticsOf } from './diagnostics.js';
import { isForeign, macSchema, MAX_PORTS, onlyId, parseServer, type Server, type UnknownServer } from './server.js';

/** The servers of all pages of a listing. */
interface Listing {
  readonly servers: readonly (Server | UnknownServer)[];
  /** True if Nova sent a server with an unexpected form, and not even its id is readable. */
  readonly isIncomplete: boolean;
  /**
   * Nova's time in milliseconds when the request for the first page began; undefined if Nova sends no
   * time, or one with an impossible year.
   */
  readonly asOf: number | undefined;
}

/** A port of a server. */
export interface Port {
  /** In lower case. */
  readonly mac: string;
  readonly network: string;
  readonly isActive: boolean;
}

/** Result of an action that Nova accepted. */
export interface Accepted {
  /** Identifies the action in the server's list of actions. */
  readonly requestId: string | undefined;
}

/** Nova's rejection of an action: its status and its reason. */
export interface Rejected {
  readonly status: number;
  readonly reason: string;
}

/**
 * Nova's API. All methods throw as {@link ComputeRequests}. Nova shows an administrator the servers of all projects.
 * `listServers` and `getServer` hide those of other projects. The other methods do not check the project, so read a
 * server before you call them.
 */
export interface ComputeApi {
  /**
   * Lists the servers of the project.
   * @param changesSince Nova's time in milliseconds since 1970: lists only servers that changed or were
   *   deleted since then. Default: lists all servers.
   */
  listServers(changesSince?: number): Promise<Listing>;
  /** Returns one server of the project; undefined if there is none. */
  getServer(id: string): Promise<Server | UnknownServer | undefined>;
  /** Returns the metadata of a server; undefined if Nova does not show them, or if there is no such server. */
  getMetadata(id: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** Returns the ports of a server, at most {@link MAX_PORTS}. */
  listPorts(id: string): Promise<readonly Port[]>;
  /** Requests an action of a server. @param body such as `{ 'os-start': null }`. */
  act(id: string, body: Readonly<Record<string, unknown>>): Promise<Accepted | Rejected>;
  /** Returns the latest actions of a server, oldest first; empty if there is no such server. */
  listActions(id: string): Promise<readonly ActionRecord[]>;
  /** Returns the end of a server's console output; empty if there is none now. */
  consoleOutput(id: string): Promise<Buffer>;
  /** Creates access to a console. */
  openConsole(id: string, kind: ConsoleKind): Promise<GraphicalConsoleAccess | Rejected>;
  /**
   * Returns the statistics of a running server.
   * @param run identifies the run of the guest since its last start.
   */
  diagnostics(id: string, run: string): Promise<MachineStatistics | Rejected>;
  /** Returns whether Nova reports that an action failed. False also if Nova does not show the action. */
  hasFailed(id: string, requestId: string): Promise<boolean>;
}

/** Maximum number of servers on a page. Nova may send fewer. */
const PAGE_SIZE = 1000;
/** Maximum number of pages. It is high, because Nova may send fewer servers on a page than the driver requests. */
const MAX_PAGES = 1000;

const FIRST_DATE = Date.UTC(2000, 0);
const LAST_DATE = Date.UTC(9999, 0);

const listSchema = z.object({
  servers: z.array(z.unknown()),
  servers_links: listOf(z.object({ rel: z.string(), href: z.string() })).default([]),
});
const metadataSchema = z.object({ metadata: textsSchema });
const portsSchema = z.object({
  interfaceAttachments: listOf(z.object({ mac_addr: macSchema, net_id: z.string(), port_state: z.string() })),
});
const outputSchema = z.object({ output: z.string().nullable() });
const actionSchema = z.object({ instanceAction: z.object({ message: z.string().nullable() }) });

/** Creates the API of a session. */
export function createComputeApi(session: CloudSession, ignoredLog: IgnoredLog): ComputeApi {
  const { get, post } = createComputeRequests(session, { maxAgeMs: VERSION_MS });
  const pathOf = (id: string): string => `/servers/${encodeURIComponent(id)}`;
  let project: string | undefined;
  const projectId = async (): Promise<string | undefined> => (project ??= await session.projectId());

  return {
    listServers: async (changesSince) => {
      const since = changesSince === undefined ? {} : { 'changes-since': new Date(changesSince).toISOString() };
      const first = new URLSearchParams({ limit: String(PAGE_SIZE), ...since });
      const pages = { get, session, projectId, ignoredLog };
      return (await listPages(first, pages)) ?? (await listPages(first, pages)) ?? throwMarkerLost();
    },
    getServer: async (id) => {
      const answer = await get(pathOf(id));
      if (answer.status === 404) return undefined;
      // The body is any JSON; the next line checks the member.
      const body = successOf(answer, `reading server ${id}`, session) as { readonly server?: unknown } | null;
      return isForeign(body?.server, await projectId()) ? undefined : parsedServer(body?.server);
    },
    getMetadata: async (id) => {
      const answer = await get(`${pathOf(id)}/metadata`);
      return answer.status === 403 || answer.status === 404
        ? undefined
        : bodyOf(metadataSchema, answer, session).metadata;
    },
    listPorts: async (id) => {
      const answer = await get(`${pathOf(id)}/os-interface`, {}, 'network');
      const ports = bodyOf(portsSchema, answer, session).interfaceAttachments;
      return ports.slice(0, MAX_PORTS).map(({ mac_addr: mac, net_id: network, port_state }) => ({
        mac,
        network: shortLine(network),
        isActive: port_state === 'ACTIVE',
      }));
    },
    act: async (id, body) => {
      const answer = await post(`${pathOf(id)}/action`, body);
      if (answer.status < 300) return { requestId: answer.headers['x-compute-request-id'] };
      return { status: answer.status, reason: session.reason(answer) };
    },
    listActions: async (id) => {
      // Before version 2.58, Nova ignores the parameter `limit`, so `actionRecords` limits the number too.
      const query = { limit: String(MAX_ACTIONS) };
      const answer = await get(`${pathOf(id)}/os-instance-actions`, query);
      return answer.status === 404 ? [] : actionRecords(bodyOf(actionListSchema, answer, session).instanceActions);
    },
    consoleOutput: async (id) => {
      const body = { 'os-getConsoleOutput': { length: CONSOLE_LINES } };
      const answer = await post(`${pathOf(id)}/action`, body, 'host');
      // 404: the guest does not run. 409: Nova never built the server.
      if (answer.status === 404 || answer.status === 409) return Buffer.alloc(0);
      return consoleBytes(bodyOf(outputSchema, answer, session).output ?? '');
    },
    openConsole: async (id, kind) => {
      const answer = await post(`${pathOf(id)}/remote-consoles`, { remote_console: kind }, 'host');
      if (answer.status >= 300) return { status: answer.status, reason: session.reason(answer) };
      return bodyOf(consoleSchema, answer, session).remote_console;
    },
    diagnostics: async (id, run) => {
      const answer = await get(`${pathOf(id)}/diagnostics`, {}, 'host');
      if (answer.status >= 400) return { status: answer.status, reason: session.reason(answer) };
      return statisticsOf(bodyOf(diagnosticsSchema, answer, session), { uuid: id, run });
    },
    hasFailed: async (id, requestId) => {
      const answer = await get(`${pathOf(id)}/os-instance-actions/${encodeURIComponent(requestId)}`);
      const parsed = actionSchema.safeParse(answer.status === 200 ? jsonOf(answer) : undefined);
      return parsed.data?.instanceAction.message === 'Error';
    },
  };
}

/** Dependencies of {@link listPages}. */
interface PageReader {
  readonly get: ComputeRequests['get'];
  readonly session: CloudSession;
  readonly projectId: CloudSession['projectId'];
  readonly ignoredLog: IgnoredLog;
}

/**
 * Reads all pages of a list of servers.
 * @returns undefined if Nova no longer knows the marker of a page: the last server of the page before.
 * @throws {CloudFailure} for any other error answer or unusable answer, and for too many or repeated pages.
 */
async function listPages(
  first: URLSearchParams,
  { get, session, projectId, ignoredLog }: PageReader,
): Promise<Listing | undefined> {
  let query = first;
  const servers = new Map<string, Server | UnknownServer>();
  let asOf: number | undefined;
  let isIncomplete = false;
  const walk = new PageWalk('listing the servers', { title: 'Nova', maxPages: MAX_PAGES });
  for (let page = 0; ; page += 1) {
    const askedAt = performance.now();
    const answer = await get('/servers/detail', query);
    if (page > 0 && answer.status === 400) return undefined;
    if (page === 0) asOf = timeBefore(answer, performance.now() - askedAt);
    const { servers: members, servers_links: links } = bodyOf(listSchema, answer, session);
    walk.count(members);
    const project = await projectId();
    for (const member of members) {
      if (isForeign(member, project)) continue;
      const server = parsedMember(member, ignoredLog);
      if (server === undefined) isIncomplete = true;
      else servers.set(server.id, server);
    }
    const next = links.find(({ rel }) => rel === 'next');
    if (next === undefined) return { servers: [...servers.values()], isIncomplete, asOf };
    query = walk.follow(next.href);
  }
}

function throwMarkerLost(): never {
  throw new CloudFailure('interrupted', 'listing the servers: Nova rejected the marker of a page twice');
}

function parsedServer(value: unknown): Server | UnknownServer {
  const parsed = parseServer(value);
  if (!parsed.success) throw unexpectedForm(['server', ...(parsed.error.issues[0]?.path ?? [])]);
  return parsed.data;
}

/**
 * Parses a member of a list. A server with an unexpected form must not hide the other servers.
 * @returns only the id if the form is unexpected; undefined if not even the id is readable.
 */
function parsedMember(member: unknown, ignoredLog: IgnoredLog): Server | UnknownServer | undefined {
  const parsed = parseServer(member);
  if (parsed.success) return parsed.data;
  ignoredLog.add('compute', member, parsed.error);
  return onlyId(member);
}

/**
 * Returns Nova's time when the request began; undefined if the answer has no valid time. The time in an answer is
 * that of its end, and Nova may have read the servers long before. So the function subtracts the duration.
 * @param tookMs duration of the request.
 */
function timeBefore({ headers }: CloudAnswer, tookMs: number): number | undefined {
  const time = Date.parse(headers['date'] ?? '');
  // Nova rejects a time before FIRST_DATE or after LAST_DATE, so the daemon could not request the changes since then.
  return time >= FIRST_DATE && time <= LAST_DATE ? time - tookMs : undefined;
}
