/** Declares the collection of a machine's parts, such as its processors. */
import type { SystemDetails } from '../drivers/snapshot/system-snapshot.js';
import { readSystem, type SystemWith } from './details.js';
import { renderCollection } from './reference.js';
import { defineResource, type Services } from './services.js';

/** A collection below a system or its manager. */
interface MachineCollection<Detail extends keyof SystemDetails> {
  /** Type of the members: `Processor`. The type of the collection is `ProcessorCollection`. */
  readonly memberType: string;
  /** Value of the property Name. */
  readonly name: string;
  readonly uri: `/redfish/v1/${'Systems' | 'Managers'}/{systemId}/${string}`;
  /** Details of the machine that `ids` reads. Without them, the collection is a 404. */
  readonly details: readonly Detail[];
  /** Returns the ids of the members, which are the last segments of their URIs. */
  readonly ids: (system: SystemWith<Detail>, services: Services) => readonly string[];
}

/**
 * Returns a collection whose members follow from one snapshot of the machine. It accepts no POST.
 */
export function machineCollection<Detail extends keyof SystemDetails>({
  memberType,
  name,
  uri,
  details,
  ids,
}: MachineCollection<Detail>) {
  const path = uri.slice(uri.indexOf('}/') + 2);
  return defineResource({
    entity: `${memberType}Collection`,
    odataType: `#${memberType}Collection.${memberType}Collection`,
    uri,
    load: ({ params, services }) => readSystem(params.systemId, path, services, ...details),
    canonicalParams: ({ uuid }) => ({ systemId: uuid }),
    render: (system, { self, services }) =>
      renderCollection(
        name,
        ids(system, services).map((id) => `${self}/${id}`),
      ),
  });
}
