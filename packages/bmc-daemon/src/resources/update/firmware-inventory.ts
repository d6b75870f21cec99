/** The firmware inventory: this service, and the firmware of each machine. */
import type { SystemRef, SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { product, vendor, version } from '../../version.js';
import { firmwareName } from '../boot/boot-reference.js';
import { biosDetails, hasDetails } from '../details.js';
import { inOrder } from '../members.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabled } from '../status.js';

const inventoryUri = '/redfish/v1/UpdateService/FirmwareInventory';

/** Id of this service in the inventory. */
const controllerId = 'BMC';

/** Returns the inventory URI of a machine's firmware. @param uuid the UUID of the machine. */
export const firmwareUri = (uuid: string): string => `${inventoryUri}/${firmwareId(uuid)}`;
const firmwareId = (uuid: string): string => `BIOS-${uuid}`;

/**
 * Returns the firmware version of a machine: the version of the latest update over Redfish, else the
 * version in the machine's SMBIOS configuration, else null.
 */
export function firmwareVersion({ firmwareUpdate, sysinfo }: SystemSnapshot): string | null {
  return firmwareUpdate?.installed ?? sysinfo?.biosVersion ?? null;
}

const firmwareCollection = defineResource({
  entity: 'SoftwareInventoryCollection',
  odataType: '#SoftwareInventoryCollection.SoftwareInventoryCollection',
  uri: inventoryUri,
  load: async ({ services }) => inOrder(await services.driver.listSystems(), 'ascending'),
  render: (machines, { self }) =>
    renderCollection('Firmware Inventory', [
      `${self}/${controllerId}`,
      ...machines.map(({ uuid }) => firmwareUri(uuid)),
    ]),
});

/** The firmware of a machine, or this service with all its machines. */
type InventoryEntity =
  | { readonly kind: 'controller'; readonly machines: readonly SystemRef[] }
  | { readonly kind: 'firmware'; readonly system: SystemSnapshot };

const firmware = defineResource({
  entity: 'SoftwareInventory',
  odataType: '#SoftwareInventory.v1_13_0.SoftwareInventory',
  uri: `${inventoryUri}/{inventoryId}` as const,
  load: async ({ params, services }): Promise<InventoryEntity> => {
    const { inventoryId: id } = params;
    const { driver } = services;
    if (id === controllerId) return { kind: 'controller', machines: inOrder(await driver.listSystems(), 'ascending') };
    const machine = /^BIOS-(.+)$/.exec(id)?.[1];
    if (machine === undefined) throw redfishError('ResourceNotFound', 'SoftwareInventory', id);
    return { kind: 'firmware', system: await driver.getSystem(machine, biosDetails) };
  },
  canonicalParams: (entity) => ({
    inventoryId: entity.kind === 'controller' ? controllerId : firmwareId(entity.system.uuid),
  }),
  render: (entity, { services }) =>
    entity.kind === 'controller' ? renderController(entity.machines) : renderFirmware(entity.system, services),
});

/** Renders this service. It is not updateable over Redfish, because it is a package of the host. */
function renderController(machines: readonly SystemRef[]): JsonObject {
  return {
    Id: controllerId,
    Name: product,
    Description: 'The management controllers of all machines, which are one service',
    Manufacturer: vendor,
    SoftwareId: 'bmc-daemon',
    Version: version,
    Updateable: false,
    RelatedItem: machines.map(({ uuid }) => reference(`/redfish/v1/Managers/${uuid}`)),
    'RelatedItem@odata.count': machines.length,
    Status: enabled,
  };
}

function renderFirmware(system: SystemSnapshot, { driver }: Services): JsonObject {
  const { uuid, name, sysinfo, firmware } = system;
  const related = hasDetails(system, ...biosDetails) ? [reference(`/redfish/v1/Systems/${uuid}/Bios`)] : [];
  return {
    Id: firmwareId(uuid),
    Name: `Firmware of ${name}`,
    ...(firmware === undefined ? {} : { Description: firmwareName(firmware.settings) }),
    // Null if the definition names no vendor. The service does not read the host's firmware
    // packages.
    Manufacturer: sysinfo?.biosVendor ?? null,
    SoftwareId: 'BIOS',
    Version: firmwareVersion(system),
    Updateable: driver.changeable.has('firmwareVersion'),
    Staged: (system.firmwareUpdate?.staged ?? null) !== null,
    ResetRequiredOnUpdate: true,
    RelatedItem: related,
    'RelatedItem@odata.count': related.length,
    Status: enabled,
  };
}

/**
 * The firmware inventory under the update service.
 * @see DSP2046, SoftwareInventory
 */
export const firmwareInventoryResources = [firmwareCollection, firmware];
