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
 * Returns the members of a collection, in the service's order. Members that vanish meanwhile are
 * left out.
 * @throws {CommandFailure}
 */
export async function readMembers(service: Service, path: string): Promise<readonly Resource[]> {
  const links = await readPages(service, await expanded(service, path));
  return mapConcurrently(links, CONCURRENCY, async (member) => {
    // A member with more than its link is expanded.
    if (Object.keys(member).some((name) => !name.startsWith('@'))) return member;
    const link = linkAt(member);
    return link === undefined ? undefined : service.find(link);
  }).then((members) => members.filter((member) => member !== undefined));
}

/**
 * Reads the first page: with `$expand` if the service offers it, with fewer members if the service
 * refuses that, and without `$expand` if it still refuses.
 */
async function expanded(service: Service, path: string): Promise<Resource> {
  const offered = objectAt(service.root, 'ProtocolFeaturesSupported', 'ExpandQuery');
  if (!path.includes('?') && (flagAt(offered, 'NoLinks') ?? false)) {
    const query = `$expand=.${flagAt(offered, 'Levels') === true ? '($levels=1)' : ''}`;
    const canPage = flagAt(service.root, 'ProtocolFeaturesSupported', 'TopSkipQuery') === true;
    for (const size of ['', ...(canPage ? [`&$top=${PAGE_MEMBERS}`] : [])]) {
      const answer = await tried(service, `${path}?${query}${size}`);
      // Some services offer `$expand`, but do not implement it for all collections.
      if (answer !== undefined && 'Members' in answer) return answer;
    }
  }
  return service.get(path);
}

/** Reads a resource; undefined if the service refuses. */
async function tried(service: Service, path: string): Promise<Resource | undefined> {
  const { status, text } = await service.receive(path);
  const body = status >= 400 ? undefined : parseJson(text);
  return body === undefined ? undefined : asResource(body);
}

async function readPages(service: Service, first: Resource): Promise<readonly Resource[]> {
  const members: Resource[] = [];
  const seen = new Set<string>();
  let page = first;
  for (;;) {
    const found = listAt(page, 'Members');
    if (members.length + found.length > MAX_MEMBERS)
      throw new CommandFailure(exitCode.unavailable, `a collection has more than ${MAX_MEMBERS} members`);
    for (const member of found) members.push(asResource(member));
    const next = linkAt(page, 'Members@odata.nextLink') ?? linkAt(page, '@odata.nextLink');
    if (next === undefined) return members;
    if (seen.has(next))
      throw new CommandFailure(exitCode.unavailable, `the pages of a collection form a loop: ${next} follows itself`);
    if (seen.size >= MAX_PAGES)
      throw new CommandFailure(exitCode.unavailable, `a collection has more than ${MAX_PAGES} pages`);
    seen.add(next);
    page = await service.get(next);
  }
}

/** Calls a function for each item, with a limit of calls at the same time. Keeps the order. */
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
