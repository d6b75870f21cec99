/** Collections with their members. */
import { isExpanded } from '../../redfish/client.js';
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
 * Reads a collection with all properties of its members. Leaves out members that the service could not read.
 * @param path null: nothing is read.
 * @param levels 1: the members; more: also the resources below them.
 */
export function useExpanded<Member extends object>(path: string | null, levels = 1): ResourceView<Members<Member>> {
  const view = useResource<Members<Member>>(path === null ? null : `${path}?$expand=.($levels=${levels})`);
  const { body } = view;
  return body === null ? view : { ...view, body: { ...body, Members: body.Members.filter(isExpanded) } };
}

/**
 * Reads a collection of a machine or a manager. If the owner links no such collection, the list of members is empty.
 * @param name the property of the owner that links the collection.
 */
export function useMembersOf<Member extends object>(
  owner: Link,
  name: string,
  levels = 1,
): ResourceView<Members<Member>> {
  const resource = useResource<Readonly<Record<string, unknown>>>(owner['@odata.id']);
  const link = resource.body?.[name] as Link | undefined; // a link of the resource
  const members = useExpanded<Member>(link?.['@odata.id'] ?? null, levels);
  if (resource.body === null) return { ...members, error: resource.error, reload: resource.reload };
  return link === undefined ? { ...members, body: { Members: [] } } : members;
}
