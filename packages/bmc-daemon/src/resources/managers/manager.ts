/**
 * The manager (management controller) of a machine. This daemon acts as the manager of every
 * machine.
 */
import { z } from 'zod';
import type { SysinfoSnapshot } from '../../drivers/snapshot/hardware-snapshot.js';
import type { JsonObject } from '../../redfish/resource.js';
import { product, vendor, version } from '../../version.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { showsMedia } from '../details.js';
import { inOrder } from '../members.js';
import { linkIfServed, reference, renderCollection } from '../reference.js';
import { renderManagerConsole } from '../serial-console.js';
import { valuesOfTimes } from '../service-time.js';
import { defineResource } from '../services.js';
import { enabled } from '../status.js';

const managerCollection = defineResource({
  entity: 'ManagerCollection',
  odataType: '#ManagerCollection.ManagerCollection',
  uri: '/redfish/v1/Managers',
  load: async ({ services }) => inOrder(await services.driver.listSystems(), 'descending'),
  render: (machines, { self }): JsonObject => ({
    ...renderCollection(
      'Manager Collection',
      machines.map(({ uuid }) => `${self}/${uuid}`),
    ),
    Oem: {},
  }),
});

const managerTimes = valuesOfTimes((DateTime = '', LastResetTime = '') => ({ DateTime, LastResetTime }));

const manager = defineResource({
  entity: 'Manager',
  odataType: '#Manager.v1_24_0.Manager',
  uri: '/redfish/v1/Managers/{managerId}',
  load: ({ params, services }) => services.driver.getSystem(params.managerId),
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  volatile: ({ now, controller }) => managerTimes(now(), controller.lastReset),
  render: ({ uuid, name, sysinfo, ...system }, { self, services, isServed }): JsonObject => ({
    Id: uuid,
    UUID: uuid,
    Name: `${name}-Manager`,
    Description: `Management controller of ${name}`,
    ManagerType: 'BMC',
    ...renderIdentity(sysinfo),
    PowerState: 'On',
    DateTimeLocalOffset: '+00:00',
    ServiceEntryPointUUID: services.serviceUuid,
    Status: enabled,
    ...renderManagerConsole(system, services.consoleSsh),
    ...linkIfServed('NetworkProtocol', `${self}/NetworkProtocol`, isServed),
    ...linkIfServed('EthernetInterfaces', `${self}/EthernetInterfaces`, isServed),
    ...(showsMedia(system, services) ? { VirtualMedia: reference(`${self}/VirtualMedia`) } : {}),
    ...linkIfServed('LogServices', `${self}/LogServices`, isServed),
    Links: {
      ManagerForServers: [reference(`/redfish/v1/Systems/${uuid}`)],
      'ManagerForServers@odata.count': 1,
      ManagerForChassis: [chassisReference(uuid, services.settings)],
      'ManagerForChassis@odata.count': 1,
    },
  }),
  patch: {
    body: z.strictObject({}),
    readOnly: new Map([
      ['DateTime', 'The clock is that of the host of this service. Set it there, for example by NTP.'],
      ['DateTimeLocalOffset', 'The clock is shown in UTC.'],
    ]),
    apply: () => undefined,
  },
  actions: {
    // All managers are this service. A reset of any of them reloads the configuration, as SIGHUP
    // does.
    '#Manager.Reset': {
      body: z.strictObject({ ResetType: z.enum(['ForceRestart', 'GracefulRestart']).optional() }),
      bodyOptional: true,
      summary: ({ ResetType }) => ResetType ?? 'GracefulRestart',
      run: (_entity, _body, { services }) => {
        services.controller.reset();
        return undefined;
      },
    },
  },
});

/**
 * Renders manufacturer, model and firmware version of a manager: those of the machine's SMBIOS if
 * set, else those of this service. A lab that imitates a vendor's server expects the vendor's
 * manager, too.
 */
export function renderIdentity({ manufacturer, product: model, biosVersion }: Partial<SysinfoSnapshot> = {}) {
  return {
    Manufacturer: manufacturer ?? vendor,
    Model: model ?? product,
    FirmwareVersion: biosVersion ?? version,
  };
}

/**
 * The collection of managers and its members.
 * @see DSP2046, Manager
 */
export const managerResources = [managerCollection, manager];
