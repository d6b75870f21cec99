/** The list of all resources: the table of contents of this folder. */
import type { HypervisorDriver } from '../drivers/driver.js';
import type { Resource } from '../redfish/resource.js';
import type { StreamDefinition } from '../redfish/stream.js';
import { accountService } from './account-service.js';
import { biosRegistry } from './attribute-registry.js';
import { biosResources } from './bios.js';
import { bootOptionResources } from './boot-option.js';
import { certificateServiceResources } from './certificate-service.js';
import { certificateResources } from './certificate.js';
import { chassisResources } from './chassis.js';
import { computerSystemResources } from './computer-system.js';
import { consoleLogResources } from './console-log.js';
import { chassisDriveResources, drive } from './drive.js';
import { ethernetInterfaceResources } from './ethernet-interface.js';
import { eventDestinationResources } from './event-destination.js';
import { eventServiceResources, eventStream } from './event-service.js';
import { firmwareInventoryResources } from './firmware-inventory.js';
import { httpsCertificateResources } from './https-certificate.js';
import { jsonSchemaResources } from './json-schema.js';
import { logServiceResources } from './log-service.js';
import { managerAccountResources } from './manager-account.js';
import { managerInterfaceResources } from './manager-ethernet-interface.js';
import { managerResources } from './manager.js';
import { memoryResources } from './memory.js';
import { messageRegistries, registryResources } from './message-registry.js';
import { metricDefinitionResources } from './metric-definition.js';
import { metricReportDefinitionResources } from './metric-report-definition.js';
import { metricReportResources } from './metric-report.js';
import { networkProtocol } from './network-protocol.js';
import { powerResources } from './power.js';
import { processorResources } from './processor.js';
import { roleResources } from './role.js';
import { secureBoot } from './secure-boot.js';
import { sensorResources } from './sensor.js';
import { serviceRoot } from './service-root.js';
import type { Services } from './services.js';
import { sessionServiceResources } from './session-service.js';
import { simpleStorageResources } from './simple-storage.js';
import { storageResources } from './storage.js';
import { summaryMetricsResources } from './summary-metrics.js';
import { taskResources } from './task.js';
import { telemetryServiceResources } from './telemetry-service.js';
import { thermalResources } from './thermal.js';
import { updateServiceResources } from './update-service.js';
import { virtualMediaResources } from './virtual-media.js';
import { volumeResources } from './volume.js';

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

/** All resources, including the JSON schemas of the other resources. */
export const resources: readonly Resource<Services>[] = [...served, ...jsonSchemaResources(served)];

const telemetryEntities = new Set(
  [
    ...telemetryServiceResources,
    ...metricDefinitionResources,
    ...metricReportDefinitionResources,
    ...metricReportResources,
    ...summaryMetricsResources,
  ].map(({ entity }) => entity),
);

/** Returns the resources for a driver. Without statistics there is no telemetry. */
export function resourcesOf({ statistics }: Pick<HypervisorDriver, 'statistics'>): readonly Resource<Services>[] {
  return statistics === undefined ? resources.filter(({ entity }) => !telemetryEntities.has(entity)) : resources;
}

/** The URIs that answer with a stream. */
export const streams: readonly StreamDefinition<Services>[] = [eventStream];
