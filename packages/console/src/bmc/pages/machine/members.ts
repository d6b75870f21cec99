/** Collections with their members. */
import { useResource, type ResourceView } from '../../resource.js';

/** A link to a resource. */
export interface Link {
  readonly '@odata.id': string;
}

/** A collection whose members are expanded. */
interface Members<Member> {
  readonly Members: readonly Member[];
}

/** Reads a collection with all properties of its members. `null`: nothing is read. */
export function useMembers<Member>(path: string | null): ResourceView<Members<Member>> {
  return useResource<Members<Member>>(path === null ? null : `${path}?$expand=.($levels=1)`);
}
