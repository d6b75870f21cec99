/** The list of the resources that belong to no feature: the table of contents of this folder. */
import type { HypervisorDriver } from '../drivers/driver.js';
import type { Resource } from '../redfish/resource.js';
import { biosRegistry } from './boot/attribute-registry.js';
import { biosResources, fixedBiosResources } from './boot/bios.js';
import { bootOptionResources } from './boot/boot-option.js';
import { secureBoot } from './boot/secure-boot.js';
import { chassisResources } from './chassis/chassis.js';
import { hostHardwareResources } from './chassis/host-hardware.js';
import { powerResources } from './chassis/power.js';
import { sensorResources } from './chassis/sensor.js';
import { thermalResources } from './chassis/thermal.js';
import { managerResources } from './managers/manager.js';
import { messageRegistries, registryResources } from './service/message-registry.js';
import { serviceRoot } from './service/service-root.js';
import { settingRegistry } from './service/setting-registry.js';
import { taskResources } from './service/task.js';
import type { Services } from './services.js';
import { chassisDriveResources, drive } from './storage/drive.js';
import { simpleStorageResources } from './storage/simple-storage.js';
import { storageResources } from './storage/storage.js';
import { volumeResources } from './storage/volume.js';
import { actionLogResources } from './systems/action-log.js';
import { computerSystemResources } from './systems/computer-system.js';
import { ethernetInterfaceResources } from './systems/ethernet-interface.js';
import { systemLogServices } from './systems/log-services.js';
import { memoryResources } from './systems/memory.js';
import { processorResources } from './systems/processor.js';
import { firmwareInventoryResources } from './update/firmware-inventory.js';
import { softwareInventoryResources } from './update/software-inventory.js';
import { updateServiceResources } from './update/update-service.js';
import { virtualMediaResources } from './virtual-media/virtual-media.js';

/** The resources that belong to no feature. `features.ts` adds the resources of the features, and the schemas. */
export const coreResources: readonly Resource<Services>[] = [
  serviceRoot,
  ...computerSystemResources,
  systemLogServices,
  ...actionLogResources,
  ...biosResources,
  secureBoot,
  ...bootOptionResources,
  ...processorResources,
  ...memoryResources,
  ...ethernetInterfaceResources,
  ...simpleStorageResources,
  ...storageResources,
  drive,
  ...volumeResources,
  ...managerResources,
  ...virtualMediaResources,
  ...chassisResources,
  ...powerResources,
  ...thermalResources,
  ...sensorResources,
  ...hostHardwareResources,
  ...chassisDriveResources,
  ...taskResources,
  ...updateServiceResources,
  ...firmwareInventoryResources,
  ...softwareInventoryResources,
  ...registryResources([...messageRegistries, biosRegistry, settingRegistry]),
];

/**
 * Returns the resources for a driver. Omits the resources of virtual media, of the action log, and of the hosts and
 * their software if the driver does not support them. Omits the boot options if the driver cannot change the boot
 * order. The BIOS settings have no PATCH if the driver cannot change them.
 */
export function coreResourcesOf({
  media,
  logs,
  hosts,
  changeable,
}: Pick<HypervisorDriver, 'media' | 'logs' | 'hosts' | 'changeable'>): readonly Resource<Services>[] {
  const missing = new Set([
    ...(media === undefined ? virtualMediaResources : []),
    ...(logs === undefined ? actionLogResources : []),
    ...(hosts === undefined ? [...hostHardwareResources, ...softwareInventoryResources] : []),
    ...(changeable.has('settings') ? [] : biosResources),
    ...(changeable.has('bootOrder') ? [] : bootOptionResources),
  ]);
  const fixed = changeable.has('settings') ? [] : fixedBiosResources;
  return [...coreResources.filter((resource) => !missing.has(resource)), ...fixed];
}
