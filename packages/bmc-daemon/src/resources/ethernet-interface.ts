/** Network interfaces of a machine, named by their MAC addresses. */
import type { InterfaceSnapshot, SystemSnapshot } from '../drivers/driver.js';
import { refuse } from '../redfish/errors.js';
import { chassisReference } from './chassis-place.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

const ethernetInterfaceCollection = defineResource({
  entity: 'EthernetInterfaceCollection',
  odataType: '#EthernetInterfaceCollection.EthernetInterfaceCollection',
  uri: '/redfish/v1/Systems/{systemId}/EthernetInterfaces',
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ interfaces }, { self }) =>
    renderCollection(
      'Ethernet Interface Collection',
      interfaces.map(({ mac }) => `${self}/${mac}`),
    ),
});

const ethernetInterface = defineResource({
  entity: 'EthernetInterface',
  odataType: '#EthernetInterface.v1_12_4.EthernetInterface',
  uri: '/redfish/v1/Systems/{systemId}/EthernetInterfaces/{interfaceId}',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; nic: InterfaceSnapshot }> => {
    const system = await services.driver.getSystem(params.systemId);
    const mac = params.interfaceId.toLowerCase();
    const nic = system.interfaces.find((candidate) => candidate.mac === mac);
    if (nic === undefined) throw refuse('ResourceNotFound', 'EthernetInterface', params.interfaceId);
    return { system, nic };
  },
  canonicalParams: ({ system, nic }) => ({ systemId: system.uuid, interfaceId: nic.mac }),
  render: ({ system, nic }, { services }) => ({
    Id: nic.mac,
    Name: `Ethernet Interface ${nic.mac}`,
    ...(nic.source === null ? {} : { Description: `${nic.model ?? 'Interface'} on ${nic.type} ${nic.source}` }),
    MACAddress: nic.mac,
    PermanentMACAddress: nic.mac,
    InterfaceEnabled: true,
    LinkStatus: nic.linkUp ? 'LinkUp' : 'LinkDown',
    // Enabled and OK with the cable out, too: Ironic's inspection takes no other interface.
    Status: enabled,
    Links: { Chassis: chassisReference(system.uuid, services.settings) },
  }),
});

/** Ethernet interfaces under a system. */
export const ethernetInterfaceResources = [ethernetInterfaceCollection, ethernetInterface];
