/** The software of the hosts: libvirt and the hypervisor, with their versions. */
import type { HostFacts, HostSnapshot } from '../../drivers/hosts-control.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { hostUri } from '../chassis/host-chassis.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource } from '../services.js';
import { enabled, unavailable } from '../status.js';

const inventoryUri = '/redfish/v1/UpdateService/SoftwareInventory';

interface Program {
  readonly id: 'hypervisor' | 'libvirt';
  readonly nameOf: (facts: HostFacts | null) => string;
  readonly versionOf: (facts: HostFacts) => string;
}

/** The programs of each host. `id` and the host's name make the resource id: `libvirt-rack-1`. */
const programs: readonly Program[] = [
  { id: 'libvirt', nameOf: () => 'libvirt', versionOf: ({ libvirtVersion }) => libvirtVersion },
  {
    id: 'hypervisor',
    nameOf: (facts) => facts?.hypervisor.name ?? 'Hypervisor',
    versionOf: ({ hypervisor }) => hypervisor.version,
  },
];

const softwareCollection = defineResource({
  entity: 'SoftwareInventoryCollection',
  odataType: '#SoftwareInventoryCollection.SoftwareInventoryCollection',
  uri: inventoryUri,
  load: ({ services }) => {
    const { hosts } = services.driver;
    if (hosts === undefined) throw redfishError('ResourceMissingAtURI', inventoryUri);
    return { hosts: hosts.list() };
  },
  render: ({ hosts }, { self }) =>
    renderCollection(
      'Software Inventory',
      hosts.flatMap(({ name }) => programs.map(({ id }) => `${self}/${id}-${name}`)),
    ),
});

const software = defineResource({
  entity: 'SoftwareInventory',
  odataType: '#SoftwareInventory.v1_13_0.SoftwareInventory',
  uri: `${inventoryUri}/{inventoryId}` as const,
  load: async ({ params, services }): Promise<{ readonly host: HostSnapshot; readonly program: Program }> => {
    const { inventoryId } = params;
    const { hosts } = services.driver;
    const program = programs.find(({ id }) => inventoryId.startsWith(`${id}-`));
    const ref = hosts?.list().find(({ name }) => inventoryId === `${program?.id ?? ''}-${name}`);
    if (hosts === undefined || program === undefined || ref === undefined) {
      throw redfishError('ResourceNotFound', 'SoftwareInventory', inventoryId);
    }
    return { host: await hosts.read(ref.name), program };
  },
  render: ({ host, program }) => ({
    Id: `${program.id}-${host.name}`,
    Name: `${program.nameOf(host.facts)} of host ${host.name}`,
    SoftwareId: program.nameOf(host.facts),
    Version: host.facts === null ? null : program.versionOf(host.facts),
    Updateable: false,
    RelatedItem: [reference(hostUri(host.name))],
    'RelatedItem@odata.count': 1,
    Status: host.reachable ? enabled : unavailable,
  }),
});

/**
 * The software inventory under the update service.
 * @see DSP2046, SoftwareInventory
 */
export const softwareInventoryResources = [softwareCollection, software];
