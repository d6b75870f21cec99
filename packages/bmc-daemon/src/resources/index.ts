/** The list of all resources: the table of contents of this folder. */
import type { HypervisorDriver } from '../drivers/driver.js';
import type { Resource } from '../redfish/resource.js';
import type { StreamDefinition } from '../redfish/stream.js';
import { accountService } from '../auth/resources/account-service.js';
import { biosRegistry } from './boot/attribute-registry.js';
import { biosResources, biosSettingsResources } from './boot/bios.js';
import { bootOptionResources } from './boot/boot-option.js';
import { secureBoot } from './boot/secure-boot.js';
import { certificateServiceResources } from '../certificates/resources/certificate-service.js';
import { certificateResources } from '../certificates/resources/certificate.js';
import { chassisResources } from './chassis/chassis.js';
import { powerResources } from './chassis/power.js';
import { sensorResources } from './chassis/sensor.js';
import { thermalResources } from './chassis/thermal.js';
import { consoleLogResources } from '../console/resources/console-log.js';
import { eventDestinationResources } from '../events/resources/event-destination.js';
import { eventServiceResources, eventStream } from '../events/resources/event-service.js';
import { httpsCertificateResources } from '../certificates/resources/https-certificate.js';
import { logServiceResources } from '../events/resources/log-service.js';
import { managerAccountResources } from '../auth/resources/manager-account.js';
import { managerInterfaceResources } from '../manager-network/resources/manager-ethernet-interface.js';
import { managerResources } from './managers/manager.js';
import { metricDefinitionResources } from '../telemetry/resources/metric-definition.js';
import { metricReportDefinitionResources } from '../telemetry/resources/metric-report-definition.js';
import { metricReportResources } from '../telemetry/resources/metric-report.js';
import { networkProtocol } from '../manager-network/resources/network-protocol.js';
import { roleResources } from '../auth/resources/role.js';
import { jsonSchemaResources } from './service/json-schema.js';
import { messageRegistries, registryResources } from './service/message-registry.js';
import { serviceRoot } from './service/service-root.js';
import { taskResources } from './service/task.js';
import type { Services } from './services.js';
import { sessionServiceResources } from '../auth/resources/session-service.js';
import { chassisDriveResources, drive } from './storage/drive.js';
import { simpleStorageResources } from './storage/simple-storage.js';
import { storageResources } from './storage/storage.js';
import { volumeResources } from './storage/volume.js';
import { summaryMetricsResources } from '../telemetry/resources/summary-metrics.js';
import { computerSystemResources } from './systems/computer-system.js';
import { ethernetInterfaceResources } from './systems/ethernet-interface.js';
import { memoryResources } from './systems/memory.js';
import { processorResources } from './systems/processor.js';
import { telemetryServiceResources } from '../telemetry/resources/telemetry-service.js';
import { firmwareInventoryResources } from './update/firmware-inventory.js';
import { updateServiceResources } from './update/update-service.js';
import { virtualMediaResources } from './virtual-media/virtual-media.js';

export type { ResourceSettings, Services } from './services.js';

const served: readonly Resource<Services>[] = [
  serviceRoot,
  ...computerSystemResources,
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
  networkProtocol,
  ...httpsCertificateResources,
  ...managerInterfaceResources,
  ...virtualMediaResources,
  ...certificateResources,
  ...chassisResources,
  ...powerResources,
  ...thermalResources,
  ...sensorResources,
  ...chassisDriveResources,
  ...taskResources,
  ...eventServiceResources,
  ...eventDestinationResources,
  ...logServiceResources,
  ...telemetryServiceResources,
  ...metricDefinitionResources,
  ...metricReportDefinitionResources,
  ...metricReportResources,
  ...summaryMetricsResources,
  ...consoleLogResources,
  ...certificateServiceResources,
  ...updateServiceResources,
  ...firmwareInventoryResources,
  ...sessionServiceResources,
  accountService,
  ...managerAccountResources,
  ...roleResources,
  ...registryResources([...messageRegistries, biosRegistry]),
];

/** Adds the JSON schemas of resources. */
const withSchemas = (some: readonly Resource<Services>[]): readonly Resource<Services>[] => [
  ...some,
  ...jsonSchemaResources(some),
];

/** All resources, including the JSON schemas of the other resources. */
export const resources: readonly Resource<Services>[] = withSchemas(served);

const telemetryResources: readonly Resource<Services>[] = [
  ...telemetryServiceResources,
  ...metricDefinitionResources,
  ...metricReportDefinitionResources,
  ...metricReportResources,
  ...summaryMetricsResources,
];

/**
 * Returns the resources for a driver: without statistics no telemetry, without virtual media no
 * drives and none of their certificates, without changes of settings no settings of the next start.
 */
export function resourcesOf({
  statistics,
  media,
  changeable,
}: Pick<HypervisorDriver, 'statistics' | 'media' | 'changeable'>): readonly Resource<Services>[] {
  const missing = new Set([
    ...(statistics === undefined ? telemetryResources : []),
    ...(media === undefined ? [...virtualMediaResources, ...certificateResources] : []),
    ...(changeable.has('settings') ? [] : biosSettingsResources),
  ]);
  return missing.size === 0 ? resources : withSchemas(served.filter((resource) => !missing.has(resource)));
}

/** The URIs that answer with a stream. */
export const streams: readonly StreamDefinition<Services>[] = [eventStream];
