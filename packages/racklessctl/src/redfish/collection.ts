/** Reads the members of collections, in pages and with `$expand` where the service offers it. */
import { parseJson } from '@rackless/daemon/text/json.js';
import { CommandFailure, exitCode } from '../failure.js';
import type { Service } from './service.js';
import { asResource, flagAt, linkAt, listAt, objectAt, type Resource } from './resource.js';

/** Maximum number of members that are read at the same time. */
const CONCURRENCY = 4;
/** Maximum number of members, because a faulty service may send pages without an end. */
const MAX_MEMBERS = 100_000;
/** Maximum number of pages, because a faulty service may also send empty pages without an end. */
const MAX_PAGES = 10_000;
/** Members of a page, if the service cannot send all expanded members at once. */
const PAGE_MEMBERS = 500;

/**
 * Maximum time for retries of all members together, unless half the time limit of a request is less. Without this
 * limit, the retries would take too long if each member answered 503.
 */
const MAX_RETRY_MS = 10_000;

/** A member that the service did not return. */
interface FailedMember {
  readonly link: string;
  readonly failure: CommandFailure;
}

/**
 * Members of a collection. Neither list has members that the service does not have or does not show (403, 404, 405,
 * 501).
 */
interface MemberReadings {
  /** In the service's order. */
  readonly members: readonly Resource[];
  readonly failed: readonly FailedMember[];
}

/** Members of a collection, as far as the service returned them. */
interface PartialMembers {
  readonly members: readonly Resource[];
  /** Why members are missing; undefined if no member is missing. */
  readonly failure: CommandFailure | undefined;
}

/**
 * Returns the members of a collection, in the service's order. Leaves out members that the service
 * does not have or does not show (403, 404, 405, 501).
 * @throws {CommandFailure} also if the service does not return one of the members.
 */
export async function readMembers(service: Service, path: string): Promise<readonly Resource[]> {
  const { members, failed } = await readEachMember(service, path);
  if (failed[0] !== undefined) throw failed[0].failure;
  return members;
}

/**
 * Reads the members of a collection as far as possible: also if a member or a later page fails, or if the
 * pages form a loop.
 * @throws {CommandFailure} if the first page cannot be read, or if the service rejects the credentials for
 *   a member. If it rejects them for a later page, the result has this failure.
 */
export async function readPossibleMembers(service: Service, path: string): Promise<PartialMembers> {
  const links = await readLinks(service, path);
  const { members, failed } = await readLinked(service, links.members);
  return { members, failure: links.failure ?? failed[0]?.failure };
}

/**
 * Reads the members of a collection. A member that fails does not affect the others.
 * @throws {CommandFailure} if the collection cannot be read, or if the service rejects the
 *   credentials.
 */
export async function readEachMember(service: Service, path: string): Promise<MemberReadings> {
  const { members, failure } = await readLinks(service, path);
  if (failure !== undefined) throw failure;
  return await readLinked(service, members);
}

/**
 * Returns all members: reads those that the service has not expanded.
 * @throws {CommandFailure} if the service rejects the credentials, or if the user interrupts the command.
 */
async function readLinked(service: Service, links: readonly Resource[]): Promise<MemberReadings> {
  const retryUntil = performance.now() + Math.min(MAX_RETRY_MS, service.timeoutMs / 2);
  const silence = new SilenceWatch();
  const members: (Resource | undefined)[] = [];
  const failed: FailedMember[] = [];
  const read = async (index: number): Promise<Resource | undefined> => {
    const member = links[index] ?? {};
    if (isExpanded(member)) return member;
    const link = linkAt(member);
    if (link === undefined) return undefined;
    try {
      return await silence.observe(() => service.findMember(link, retryUntil));
    } catch (error) {
      const concernsOneMember =
        error instanceof CommandFailure && error.code !== exitCode.denied && !service.signal.aborted;
      if (!concernsOneMember) throw error;
      failed.push({ link, failure: error });
      return undefined;
    }
  };
  await mapConcurrently(spreadIndexes(links.length), CONCURRENCY, async (index) => {
    members[index] = await read(index);
  });
  return { members: members.filter((member) => member !== undefined), failed };
}

/**
 * Returns the indexes of a list in an order in which concurrent requests go to members that are far
 * apart in the list. Machines of one host, which may all be silent, are often neighbors.
 */
function spreadIndexes(length: number): readonly number[] {
  const step = Math.ceil(length / CONCURRENCY);
  return Array.from({ length }, (_, index) => index).sort((a, b) => (a % step) - (b % step) || a - b);
}

/**
 * Recognizes a service that no longer answers: after four timeouts in a row, further requests fail at
 * once. Otherwise each of many members would cost a timeout.
 */
class SilenceWatch {
  #answers = 0;
  /** Requests in a row that timed out, while no other request got an answer. */
  #timeouts = 0;
  #failure: CommandFailure | undefined;

  /** Sends a request, or fails at once if the service no longer answers. @throws {CommandFailure} */
  async observe<T>(send: () => Promise<T>): Promise<T> {
    if (this.#failure !== undefined)
      throw new CommandFailure(
        exitCode.timeout,
        `not requested, because ${CONCURRENCY} requests in a row timed out: ${this.#failure.message}`,
      );
    const answersBefore = this.#answers;
    try {
      const result = await send();
      this.#answered();
      return result;
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.code !== exitCode.timeout) this.#answered();
      else if (this.#answers === answersBefore) {
        this.#timeouts += 1;
        if (this.#timeouts >= CONCURRENCY) this.#failure = error;
      }
      throw error;
    }
  }

  #answered(): void {
    this.#answers += 1;
    this.#timeouts = 0;
  }
}

/** Returns whether a member has more than its link. */
const isExpanded = (member: Resource): boolean => Object.keys(member).some((name) => !name.startsWith('@'));

/** Reads the links of a collection. Those that the service has expanded are complete members. */
async function readLinks(service: Service, path: string): Promise<PartialMembers> {
  const first = await readExpanded(service, path);
  if (first === undefined) return await readPages(service, await service.get(path));
  const pages = await readPages(service, first, { isOptional: true });
  const { members, isRefused } = pages;
  if (!isRefused) return pages;
  // A member that fails may cause the failure of its whole page. So the second read has no `$expand`.
  const known = new Map(members.filter(isExpanded).map((member) => [linkAt(member), member]));
  const links = await readPages(service, await service.get(path));
  return { ...links, members: links.members.map((member) => known.get(linkAt(member)) ?? member) };
}

/**
 * Reads the first page with `$expand` if the service offers it and the path has no query. First requests
 * all members. If this request fails and the service offers `$top`, requests one page of 500. Does not
 * wait after a 503, because the caller can read the page without `$expand`.
 * @returns undefined if no such request is possible, or if each one fails.
 */
async function readExpanded(service: Service, path: string): Promise<Resource | undefined> {
  const offered = objectAt(service.root, 'ProtocolFeaturesSupported', 'ExpandQuery');
  if (!path.includes('?') && (flagAt(offered, 'NoLinks') ?? false)) {
    const query = `$expand=.${flagAt(offered, 'Levels') === true ? '($levels=1)' : ''}`;
    const canPage = flagAt(service.root, 'ProtocolFeaturesSupported', 'TopSkipQuery') === true;
    for (const size of ['', ...(canPage ? [`&$top=${PAGE_MEMBERS}`] : [])]) {
      const answer = await tryRead(service, `${path}?${query}${size}`);
      // Some services offer `$expand`, but do not implement it for all collections.
      if (answer !== undefined && 'Members' in answer) return answer;
    }
  }
  return undefined;
}

/**
 * Reads a resource; undefined if the service refuses, or does not answer completely. Does not repeat
 * the request after a 503.
 */
async function tryRead(service: Service, path: string): Promise<Resource | undefined> {
  try {
    const { status, text } = await service.receive(path, -Infinity);
    const body = status >= 400 ? undefined : parseJson(text);
    return body === undefined ? undefined : asResource(body);
  } catch (error) {
    // This error is no failure of the collection: the service may wait for a silent member before it answers.
    const hasNoAnswer =
      error instanceof CommandFailure && (error.code === exitCode.timeout || error.code === exitCode.unavailable);
    if (!hasNoAnswer || service.signal.aborted) throw error;
    return undefined;
  }
}

/** The members of several pages. */
interface Pages extends PartialMembers {
  /** True: a page with `$expand` failed; the caller reads the pages again without it. */
  readonly isRefused: boolean;
}

/** Returns the members of the first page and of the pages that follow it, up to a page that fails. */
async function readPages(service: Service, first: Resource, { isOptional = false } = {}): Promise<Pages> {
  const members: Resource[] = [];
  try {
    const isRefused = !(await addPages(service, first, { isOptional, members }));
    return { members, isRefused, failure: undefined };
  } catch (error) {
    if (!(error instanceof CommandFailure) || service.signal.aborted) throw error;
    return { members, isRefused: false, failure: error };
  }
}

/**
 * Adds the members of a page and of those that follow it.
 * @returns false if the service refused an optional page.
 * @throws {CommandFailure}
 */
async function addPages(
  service: Service,
  first: Resource,
  { isOptional, members }: { readonly isOptional: boolean; readonly members: Resource[] },
): Promise<boolean> {
  const seen = new Set<string>();
  const listed = new Set<string>();
  let page = first;
  for (;;) {
    const found = listAt(page, 'Members');
    if (members.length + found.length > MAX_MEMBERS)
      throw new CommandFailure(exitCode.unavailable, `a collection has more than ${MAX_MEMBERS} members`);
    for (const value of found) {
      const member = asResource(value);
      const link = linkAt(member);
      // The pages overlap if members are added while they are read.
      if (link === undefined || !listed.has(link)) members.push(member);
      if (link !== undefined) listed.add(link);
    }
    const next = linkAt(page, 'Members@odata.nextLink') ?? linkAt(page, '@odata.nextLink');
    if (next === undefined) return true;
    if (seen.has(next))
      throw new CommandFailure(exitCode.unavailable, `the pages of a collection form a loop: ${next} follows itself`);
    if (seen.size >= MAX_PAGES)
      throw new CommandFailure(exitCode.unavailable, `a collection has more than ${MAX_PAGES} pages`);
    seen.add(next);
    const following = isOptional ? await tryRead(service, next) : await service.get(next);
    if (following === undefined) return false;
    page = following;
  }
}

/**
 * Calls a function for each item, with a limit of calls at the same time. Returns the results in the order
 * of the items. If a call rejects, rejects at once. The other calls continue, and the items that have not begun
 * are still processed.
 */
export async function mapConcurrently<T, U>(
  items: readonly T[],
  limit: number,
  call: (item: T) => Promise<U>,
): Promise<readonly U[]> {
  const results: U[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await call(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
