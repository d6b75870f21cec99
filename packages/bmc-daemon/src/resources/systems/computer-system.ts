/** ComputerSystem: properties, boot and power of a virtual machine. */
import { z } from 'zod';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { SystemChange } from '../../drivers/system-change.js';
import { storedUrl } from '../../media/image.js';
import { withoutProperties } from '../../redfish/body/without-properties.js';
import type { JsonObject, ResourceRequest, WriteResult } from '../../redfish/resource.js';
import { vendor, version } from '../../version.js';
import { applyChange, wantedBoot } from '../boot/boot-change.js';
import { bootBody, bootProperties, fixedBoot, renderBoot, type BootBody } from '../boot/boot.js';
import { systemChassis } from '../chassis/host-chassis.js';
import { assetTagBody, powerRestorePolicies, wantedTag } from './identity.js';
import { firmwareVersion } from '../update/firmware-inventory.js';
import {
  indicatorBody,
  indicatorOf,
  indicatorProperties,
  renderIndicator,
  wantedIndicator,
} from '../chassis/indicator.js';
import { biosDetails, hasDetails, showsMedia } from '../details.js';
import { inOrder } from '../members.js';
import { totalMemoryGiB } from './memory.js';
import { knownSystem, reset, resetTypeNames, supportedResets } from './reset.js';
import { linkIfServed, reference, renderCollection } from '../reference.js';
import { graphicalConsoleBody, openConsole, renderGraphicalConsole, wantedDisplay } from './graphical-console.js';
import { renderSystemConsole } from '../serial-console.js';
import { defineResource, type Services } from '../services.js';
import { hasStorage } from '../storage/storage-unit.js';
import { enabledWithParts, powerState, systemStatus } from '../status.js';

const systemCollection = defineResource({
  entity: 'ComputerSystemCollection',
  odataType: '#ComputerSystemCollection.ComputerSystemCollection',
  uri: '/redfish/v1/Systems',
  load: async ({ services }) => inOrder(await services.driver.listSystems(), 'ascending'),
  render: (machines, { self }) =>
    renderCollection(
      'Computer System Collection',
      machines.map(({ uuid }) => `${self}/${uuid}`),
    ),
});

const computerSystem = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: ({ params, services }) => services.driver.getSystem(params.systemId, ['boot']),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: (system, { self, services, isServed }) =>
    renderSystem(system, { self, services, metrics: summaryMetrics(self, isServed) }),
  patch: {
    body: patchBody,
    shape: ({ autostart, boot }) => [autostart, boot, boot?.fixed].map((detail) => detail !== undefined).join(),
    readOnly: ({ boot }) => fixedBoot(boot),
    loggedValues: [
      'AssetTag',
      'Boot.BootSourceOverrideEnabled',
      'Boot.BootSourceOverrideMode',
      'Boot.BootSourceOverrideTarget',
      'GraphicalConsole.ServiceEnabled',
      'IndicatorLED',
      'LocationIndicatorActive',
      'PowerRestorePolicy',
    ],
    properties: bootProperties,
    apply: (system, body, request) => applySystem(system, body, request),
  },
  actions: {
    '#ComputerSystem.Reset': {
      body: z.strictObject({ ResetType: z.enum(resetTypeNames) }),
      parameters: (_system, services): JsonObject => ({
        'ResetType@Redfish.AllowableValues': supportedResets(services),
      }),
      summary: ({ ResetType }) => ResetType,
      load: ({ params, services }) => knownSystem(services.driver, params.systemId),
      run: (system, { ResetType }, request) => reset(system, ResetType, request),
    },
    '#RacklessComputerSystem.OpenConsole': {
      available: ({ hasGraphicalConsole }, { driver }) =>
        driver.graphicalConsole !== undefined && hasGraphicalConsole === true,
      body: z.strictObject({}),
      bodyOptional: true,
      // This action changes nothing, and its URL is a secret. So it causes no event.
      summary: () => null,
      run: (system, _body, { services }) => openConsole(system, services),
    },
  },
});

/** Properties of a PATCH besides Boot. */
const otherBody = z.strictObject({
  ...indicatorBody,
  ...assetTagBody,
  // LastState is not possible: libvirt stores which machines to start, not which machines were
  // running.
  PowerRestorePolicy: z.enum(powerRestorePolicies).optional(),
  ...graphicalConsoleBody,
});

type SystemBody = z.infer<typeof otherBody> & { readonly Boot?: BootBody | undefined };

/** Returns the schema of a PATCH: the properties that the machine has and the driver can change. */
function patchBody(system: SystemSnapshot, { driver: { changeable }, screens }: Services): z.ZodType<SystemBody> {
  const omitted = [
    ...(changeable.has('indicator') ? [] : indicatorProperties),
    ...(changeable.has('assetTag') ? [] : (['AssetTag'] as const)),
    ...(changeable.has('autostart') && system.autostart !== undefined ? [] : (['PowerRestorePolicy'] as const)),
    ...(screens !== null && changeable.has('display') ? [] : (['GraphicalConsole'] as const)),
  ];
  if (!changeable.has('boot') || !hasDetails(system, 'boot')) return withoutProperties(otherBody, omitted);
  const body = z.strictObject({ Boot: bootBody(system, changeable).optional(), ...otherBody.shape });
  return withoutProperties(body, omitted);
}

/**
 * Applies a PATCH as one change of the machine: all properties or none.
 * @throws {RedfishError} 400 if the two properties of the indicator contradict each other.
 * @throws as {@link applyChange}.
 */
async function applySystem(
  system: SystemSnapshot,
  body: SystemBody,
  { services, requester }: ResourceRequest<Services, unknown>,
): Promise<WriteResult | undefined> {
  const indicator = wantedIndicator(body, indicatorOf(system, services.settings));
  const boot =
    body.Boot === undefined || !hasDetails(system, 'boot')
      ? { change: {}, messages: [] }
      : wantedBoot(system, body.Boot, services);
  const display = wantedDisplay(system, body);
  const { PowerRestorePolicy: policy } = body;
  const change: SystemChange = {
    ...boot.change,
    ...wantedTag(body),
    ...display.change,
    ...(indicator === undefined ? {} : { indicator }),
    ...(policy === undefined ? {} : { autostart: policy === 'AlwaysOn' }),
  };
  const imageUrl = boot.change.cd?.image?.url;
  const context = {
    body: imageUrl === undefined ? {} : { Boot: { HttpBootUri: storedUrl(imageUrl) } },
    properties: bootProperties,
    path: `/redfish/v1/Systems/${system.uuid}`,
  };
  const messages = [...boot.messages, ...display.messages];
  return await applyChange(system, change, { services, requester, context, messages });
}

/** The URI, the services and the metric links that a rendering needs. */
interface RenderOptions {
  readonly self: string;
  readonly services: Pick<Services, 'driver' | 'settings' | 'consoleSsh' | 'webConsoles' | 'screens'>;
  readonly metrics: { readonly processors: JsonObject; readonly memory: JsonObject };
}

/** Renders the `Metrics` links of ProcessorSummary and MemorySummary. Omits links to resources that are not served. */
function summaryMetrics(self: string, isServed: (path: string) => boolean) {
  return {
    processors: linkIfServed('Metrics', `${self}/ProcessorSummary/ProcessorMetrics`, isServed),
    memory: linkIfServed('Metrics', `${self}/MemorySummary/MemoryMetrics`, isServed),
  };
}

function renderSystem(system: SystemSnapshot, { self, services, metrics }: RenderOptions): JsonObject {
  const { driver, settings } = services;
  const { uuid, sysinfo, description, machineType, autostart } = system;
  const chassis = systemChassis(system, services);
  return {
    Id: uuid,
    UUID: uuid,
    Name: system.name,
    ...((description ?? null) === null ? {} : { Description: description }),
    SystemType: 'Virtual',
    Manufacturer: sysinfo?.manufacturer ?? vendor,
    Model: sysinfo?.product ?? `${vendor} ${version}`,
    ...(machineType === undefined ? {} : { SubModel: machineType }),
    SerialNumber: sysinfo?.serial ?? null,
    SKU: sysinfo?.sku ?? null,
    PartNumber: null,
    ...(driver.changeable.has('assetTag') ? { AssetTag: system.assetTag ?? null } : {}),
    BiosVersion: firmwareVersion(system),
    Status: systemStatus(system),
    PowerState: powerState(system),
    ...(autostart === undefined
      ? {}
      : {
          PowerRestorePolicy: autostart ? 'AlwaysOn' : 'AlwaysOff',
          'PowerRestorePolicy@Redfish.AllowableValues': powerRestorePolicies,
        }),
    ...(hasDetails(system, 'boot') ? { Boot: renderBoot(system, self) } : {}),
    ...renderSummaries(system, metrics),
    ...renderLinks(system, self, services),
    ...renderSystemConsole(system, services),
    ...renderGraphicalConsole(system, services),
    LogServices: reference(`${self}/LogServices`),
    ...(driver.changeable.has('indicator') ? renderIndicator(indicatorOf(system, settings)) : {}),
    Links: {
      Chassis: chassis,
      'Chassis@odata.count': chassis.length,
      ManagedBy: [reference(`/redfish/v1/Managers/${uuid}`)],
      'ManagedBy@odata.count': 1,
    },
  };
}

function renderSummaries({ processors, memoryKiB }: SystemSnapshot, metrics: RenderOptions['metrics']): JsonObject {
  return {
    ...(processors === undefined
      ? {}
      : {
          ProcessorSummary: {
            // Count follows the contract, which counts CPUs of the guest. DMTF counts packages, as
            // the members of Processors do.
            Count: processors.count,
            LogicalProcessorCount: processors.count,
            Model: processors.model,
            Status: enabledWithParts,
            ...metrics.processors,
          },
        }),
    ...(memoryKiB === undefined
      ? {}
      : {
          MemorySummary: {
            TotalSystemMemoryGiB: totalMemoryGiB(memoryKiB),
            Status: enabledWithParts,
            ...metrics.memory,
          },
        }),
  };
}

/** Renders the links to resources below the system that the machine has. */
function renderLinks(
  system: SystemSnapshot,
  self: string,
  services: Pick<Services, 'driver' | 'settings'>,
): JsonObject {
  const present = {
    Bios: hasDetails(system, ...biosDetails),
    SecureBoot: (system.firmware?.secureBoot ?? null) !== null,
    Processors: hasDetails(system, 'processors'),
    Memory: hasDetails(system, 'memoryKiB'),
    EthernetInterfaces: hasDetails(system, 'interfaces'),
    SimpleStorage: hasDetails(system, 'disks'),
    Storage: hasStorage(system, services.settings),
    VirtualMedia: showsMedia(system, services),
  };
  const names = Object.entries(present).filter(([, isPresent]) => isPresent);
  return Object.fromEntries(names.map(([name]) => [name, reference(`${self}/${name}`)]));
}

/**
 * The collection of systems and its members.
 * @see DSP2046, ComputerSystem
 */
export const computerSystemResources = [systemCollection, computerSystem];
