/**
 * Answers a GET with a query, or a GET of a collection that is longer than one page. Applies the
 * parameters in DSP0266's order: `$filter`, `$skip`, `$top`, pages, `$expand`, `$select`.
 */
import { emptyAnswer, jsonAnswer, stringify, type Answer } from '../answer.js';
import { ifNoneMatchMatches } from '../conditions.js';
import type { Endpoint } from '../endpoint.js';
import { redfishError } from '../messages/errors.js';
import { annotationOf, unreadMessages } from '../messages/messages.js';
import type { Exchange } from '../exchange.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import type { Params } from '../resource.js';
import { expandLinks, LinkReader, type ReadLink } from './expand.js';
import type { ExpansionBudget } from './expansion-budget.js';
import type { Filter } from './filter.js';
import type { Query } from './parse.js';
import { chunkedAnswer } from './chunked-answer.js';
import { selectFrom } from './select.js';
import { serialize } from './serialize.js';

/** Access of a query to other resources, with the privileges of its client. */
export interface QueryReading {
  /** Reads a resource as an object, for `$filter` and `$expand`. */
  readonly read: ReadLink;
  /** Answers a GET of the only member, for the parameter `only`. */
  readonly get: (uri: string) => Promise<Answer>;
  readonly budget: ExpansionBudget;
}

/**
 * Checks whether an endpoint supports a query.
 * @throws {RedfishError} 400.
 */
export function checkQuery({ load, isCollection }: Endpoint, query: Query, method: string): void {
  if (method !== 'GET' && method !== 'HEAD') throw redfishError('QueryNotSupportedOnOperation');
  const concernsMembers =
    query.only || query.filter !== undefined || query.skip !== undefined || query.top !== undefined;
  if (load === undefined || (concernsMembers && !isCollection)) throw redfishError('QueryNotSupportedOnResource');
}

/**
 * Answers a GET or HEAD with a query that has passed {@link checkQuery}.
 * @throws {RedfishError} 507 if the answer becomes too large, 503 as {@link ExpansionBudget.run}.
 * @throws {RedfishError} {DriverError} if a necessary resource cannot be read.
 */
export async function answerQuery(
  { load }: Endpoint,
  params: Params,
  query: Query,
  exchange: Exchange,
  { read, get, budget }: QueryReading,
): Promise<Answer> {
  if (load === undefined) throw redfishError('QueryNotSupportedOnResource');
  const loaded = await load(exchange, params);
  if (query.only) {
    const [member, ...otherMembers] = membersOf(loaded.body);
    const uri = isObject(member) ? member['@odata.id'] : undefined;
    if (typeof uri === 'string' && otherMembers.length === 0) return get(uri);
  }
  if (query.filter === undefined && query.expand === undefined) {
    const page = pageOf(loaded.body, query);
    const text = stringify(query.select === undefined ? page : selectFrom(page, query.select));
    const etag = loaded.etag();
    return notModified(exchange, etag) ?? jsonAnswer(200, text, { ...loaded.headers, ETag: etag });
  }
  const { user, address, signal } = exchange.requester;
  // Limits apply per user and address: many users may share an address. Sessions do not count,
  // because a user may open many.
  const client = `${user ?? ''} ${address}`;
  return budget.run(client, signal, async () => {
    const reader = new LinkReader(read, signal, budget);
    const filtered = query.filter === undefined ? loaded.body : await filterMembers(loaded.body, query.filter, reader);
    const page = pageOf(filtered, query);
    const unexpanded = { body: page, composite: new Set<Json>() };
    const { body, composite } = query.expand === undefined ? unexpanded : await expandLinks(page, query.expand, reader);
    const text = await serialize(body, query.select, composite, reader);
    const whole = (): Answer => {
      const { stallMs } = budget.limits;
      const released = budget.hold(client, text.bytes);
      return chunkedAnswer(text, { ...loaded.headers, ETag: text.etag }, { stallMs, released });
    };
    // The answer depends on other resources, so its ETag is that of its own text.
    const answer = notModified(exchange, text.etag) ?? whole();
    const failures = [...reader.failures.values()];
    // An internal error is more important for the log than a host that does not answer.
    const partFailure = failures.find(({ status }) => status === 500) ?? failures[0];
    return partFailure === undefined ? answer : { ...answer, partFailure };
  });
}

function notModified({ preconditions: { ifNoneMatch } }: Exchange, etag: string): Answer | undefined {
  return ifNoneMatch !== undefined && ifNoneMatchMatches(ifNoneMatch, etag)
    ? emptyAnswer(304, { ETag: etag })
    : undefined;
}

function membersOf(body: JsonObject): readonly Json[] {
  const members = body['Members'];
  return isArray(members) ? members : [];
}

/**
 * Returns the collection with the matching members and their number (DSP0266, $filter). If members cannot be read,
 * the collection has a message for each, because the service cannot decide whether they match.
 * @throws {RedfishError} 507 if the answer becomes too large; 503 if no member can be read because the host does not
 *   answer; OperationFailed if the client disconnects.
 */
async function filterMembers(body: JsonObject, filter: Filter, reader: LinkReader): Promise<JsonObject> {
  const members = membersOf(body);
  const links = members.map((member) =>
    isObject(member) && Object.keys(member).length === 1 ? member['@odata.id'] : undefined,
  );
  const uris = links.filter((uri) => typeof uri === 'string');
  const resources = new Map((await reader.readAll(uris)).map((resource, index) => [uris[index], resource]));
  const passing: Json[] = [];
  for (const [index, member] of members.entries()) {
    const link = links[index];
    const resource = typeof link === 'string' ? resources.get(link) : member;
    // A member never matches if it does not exist anymore, or if the user may not read it.
    if (isObject(resource) && !('@Message.ExtendedInfo' in resource) && filter(resource)) passing.push(member);
    // Pauses here, because a filter may contain a thousand comparisons.
    await reader.step();
  }
  reader.assertAvailable();
  const unread = [...reader.failures].flatMap(([uri, { messages }]) => unreadMessages(`'${uri}'`, messages));
  return { ...body, 'Members@odata.count': passing.length, Members: passing, ...annotationOf(unread) };
}

/**
 * Returns one page: the members after `$skip`, limited by `$top`, and a link to the next page if more members
 * follow. `Members@odata.count` stays the number of all members.
 */
function pageOf(body: JsonObject, { skip = 0, top = Infinity, parameters }: Query): JsonObject {
  const members = membersOf(body);
  if (skip === 0 && members.length <= top) return body;
  const pageEnd = Math.min(skip + top, members.length);
  const { '@odata.id': self } = body;
  const page: JsonObject = { ...body, Members: members.slice(skip, pageEnd) };
  // No link if the page is empty on request (`$top=0`): a client would follow such links endlessly.
  if (pageEnd >= members.length || top === 0 || typeof self !== 'string') return page;
  const otherParameters = parameters.filter(([name]) => name !== '$skip' && name !== '$top');
  const query = [...otherParameters, ['$skip', String(pageEnd)] as const, ['$top', String(top)] as const]
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return { ...page, 'Members@odata.nextLink': `${self}?${query}` };
}
