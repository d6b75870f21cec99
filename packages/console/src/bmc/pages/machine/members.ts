/** Collections with their members. */
import { useResource, type ResourceView } from '../../resource.js';

/** A link to a resource. */
export interface Link {
  readonly '@odata.id': string;
}

/** A collection whose members are expanded. */
export interface Members<Member> {
  readonly Members: readonly Member[];
}

/**
 * Reads a collection with all properties of its members. `null`: nothing is read.
 * @param levels 1: the members; more: also the resources below them.
 */
export function useExpanded<Member>(path: string | null, levels = 1): ResourceView<Members<Member>> {
  return useResource<Members<Member>>(path === null ? null : `${path}?$expand=.($levels=${levels})`);
}

/** Reads a collection of a machine. A machine without the collection gets an empty one. */
export function useMembersOf<Member>(machine: Link, name: string, levels = 1): ResourceView<Members<Member>> {
  const system = useResource<Readonly<Record<string, unknown>>>(machine['@odata.id']);
  const link = system.body?.[name] as Link | undefined; // a link of ComputerSystem
  const members = useExpanded<Member>(link?.['@odata.id'] ?? null, levels);
  if (system.body === null) return { ...members, error: system.error, reload: system.reload };
  return link === undefined ? { ...members, body: { Members: [] } } : members;
}
