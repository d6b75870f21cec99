/** ComputerSystem: properties, boot and power of a virtual machine. */
import { z } from 'zod';
import { DriverError } from '../../drivers/driver-error.js';
import type { PowerAction } from '../../drivers/power.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { SystemChange } from '../../drivers/system-change.js';
import { storedUrl } from '../../media/image.js';
import { RedfishError, refuse } from '../../redfish/messages/errors.js';
import { runLongOperation } from '../../redfish/tasks/long-operation.js';
import { about, message, withDetail } from '../../redfish/messages/messages.js';
import type { JsonObject, ResourceRequest, WriteResult } from '../../redfish/resource.js';
import { vendor, version } from '../../version.js';
import { applyChange, wantedBoot } from '../boot/boot-change.js';
import { bootBody, bootProperties, renderBoot } from '../boot/boot.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { assetTagBody, powerRestorePolicies, wantedTag } from './identity.js';
import { firmwareVersion } from '../update/firmware-inventory.js';
import { indicatorBody, indicatorOf, renderIndicator, wantedIndicator } from '../chassis/indicator.js';
import { inOrder } from '../members.js';
import { totalMemoryGiB } from './memory.js';
import { reference, renderCollection } from '../reference.js';
import { renderSystemConsole } from '../serial-console.js';
import { defineResource, type Services } from '../services.js';
import { enabledWithParts, powerState, systemStatus } from '../status.js';

/** Driver action for each reset type: types of the contract first, then further types of DMTF. */
const resetTypes = {
  On: 'create',
  ForceOff: 'destroy',
  GracefulShutdown: 'shutdown',
  GracefulRestart: 'reboot',
  ForceRestart: 'reset',
  Nmi: 'injectNmi',
  ForceOn: 'create',
  PowerCycle: 'cycle',
  PushPowerButton: 'pressButton',
  Pause: 'suspend',
  Resume: 'resume',
  // DMTF: writes the state to disk and switches the power off.
  Suspend: 'pmSuspend',
} as const satisfies Readonly<Record<string, PowerAction>>;

const resetTypeNames = [
  'On',
  'ForceOff',
  'GracefulShutdown',
  'GracefulRestart',
  'ForceRestart',
  'Nmi',
  'ForceOn',
  'PowerCycle',
  'PushPowerButton',
  'Pause',
  'Resume',
  'Suspend',
] as const;
type ResetType = keyof typeof resetTypes;

const resetAction = 'ComputerSystem.Reset';

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
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: (system, { self, services, isServed }) =>
    renderSystem(system, { self, services, metrics: summaryMetrics(self, isServed) }),
  patch: {
    body: patchBody,
    shape: ({ autostart }) => (autostart === undefined ? 'without PowerRestorePolicy' : 'all'),
    loggedValues: [
      'AssetTag',
      'Boot.BootSourceOverrideEnabled',
      'Boot.BootSourceOverrideMode',
      'Boot.BootSourceOverrideTarget',
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
      parameters: (): JsonObject => ({ 'ResetType@Redfish.AllowableValues': resetTypeNames }),
      summary: ({ ResetType }) => ResetType,
      run: (system, { ResetType }, request) => reset(system, ResetType, request),
    },
  },
});

const fullBody = (system: SystemSnapshot) =>
  z.strictObject({
    Boot: bootBody(system).optional(),
    ...indicatorBody,
    ...assetTagBody,
    // No LastState: libvirt stores which machines to start, and not which machines ran.
    PowerRestorePolicy: z.enum(powerRestorePolicies).optional(),
  });

/** Returns the schema of a PATCH. It omits PowerRestorePolicy if the machine has no autostart. */
function patchBody(system: SystemSnapshot): z.ZodType<z.infer<ReturnType<typeof fullBody>>> {
  const body = fullBody(system);
  return system.autostart === undefined ? body.omit({ PowerRestorePolicy: true }) : body;
}

/** Applies a PATCH as one change of the machine: all properties or none. */
async function applySystem(
  system: SystemSnapshot,
  body: z.infer<ReturnType<typeof fullBody>>,
  { services, requester }: ResourceRequest<Services, unknown>,
): Promise<WriteResult | undefined> {
  const indicator = wantedIndicator(body, indicatorOf(system, services.settings));
  const boot = body.Boot === undefined ? { change: {}, messages: [] } : wantedBoot(system, body.Boot, services);
  const { PowerRestorePolicy: policy } = body;
  const change: SystemChange = {
    ...boot.change,
    ...wantedTag(body),
    ...(indicator === undefined ? {} : { indicator }),
    ...(policy === undefined ? {} : { autostart: policy === 'AlwaysOn' }),
  };
  const uri = boot.change.cd?.image?.url;
  const context = {
    body: uri === undefined ? {} : { Boot: { HttpBootUri: storedUrl(uri) } },
    properties: bootProperties,
    path: `/redfish/v1/Systems/${system.uuid}`,
  };
  const done = await applyChange(system, change, { services, requester, context });
  return boot.messages.length === 0 ? done : { messages: boot.messages };
}

interface SystemPlace {
  readonly self: string;
  readonly services: Pick<Services, 'settings' | 'consoleSsh'>;
  readonly metrics: { readonly processors: JsonObject; readonly memory: JsonObject };
}

/** Renders the `Metrics` links of both summaries. Omits links to resources that are not served. */
function summaryMetrics(self: string, isServed: (path: string) => boolean) {
  const link = (uri: string): JsonObject => (isServed(uri) ? { Metrics: reference(uri) } : {});
  return {
    processors: link(`${self}/ProcessorSummary/ProcessorMetrics`),
    memory: link(`${self}/MemorySummary/MemoryMetrics`),
  };
}

function renderSystem(system: SystemSnapshot, { self, services, metrics }: SystemPlace): JsonObject {
  const { settings, consoleSsh } = services;
  const { uuid, sysinfo, processors, autostart } = system;
  return {
    Id: uuid,
    UUID: uuid,
    Name: system.name,
    ...(system.description === null ? {} : { Description: system.description }),
    SystemType: 'Virtual',
    Manufacturer: sysinfo.manufacturer ?? vendor,
    Model: sysinfo.product ?? `${vendor} ${version}`,
    SubModel: system.machineType,
    SerialNumber: sysinfo.serial,
    SKU: sysinfo.sku,
    PartNumber: null,
    AssetTag: system.assetTag ?? null,
    BiosVersion: firmwareVersion(system),
    Status: systemStatus(system),
    PowerState: powerState(system),
    ...(autostart === undefined
      ? {}
      : {
          PowerRestorePolicy: autostart ? 'AlwaysOn' : 'AlwaysOff',
          'PowerRestorePolicy@Redfish.AllowableValues': powerRestorePolicies,
        }),
    Boot: renderBoot(system, self),
    ProcessorSummary: {
      // The contract counts CPUs of the guest. DMTF counts packages, as the members of Processors do.
      Count: processors.count,
      LogicalProcessorCount: processors.count,
      Model: processors.model,
      Status: enabledWithParts,
      ...metrics.processors,
    },
    MemorySummary: {
      TotalSystemMemoryGiB: totalMemoryGiB(system.memoryKiB),
      Status: enabledWithParts,
      ...metrics.memory,
    },
    Bios: reference(`${self}/Bios`),
    ...(system.firmware.secureBoot === null ? {} : { SecureBoot: reference(`${self}/SecureBoot`) }),
    Processors: reference(`${self}/Processors`),
    Memory: reference(`${self}/Memory`),
    EthernetInterfaces: reference(`${self}/EthernetInterfaces`),
    SimpleStorage: reference(`${self}/SimpleStorage`),
    Storage: reference(`${self}/Storage`),
    VirtualMedia: reference(`${self}/VirtualMedia`),
    ...renderSystemConsole(system, consoleSsh),
    LogServices: reference(`${self}/LogServices`),
    ...renderIndicator(indicatorOf(system, settings)),
    Links: {
      Chassis: [chassisReference(uuid, settings)],
      'Chassis@odata.count': 1,
      ManagedBy: [reference(`/redfish/v1/Managers/${uuid}`)],
      'ManagedBy@odata.count': 1,
    },
  };
}

/**
 * Executes a reset. A slow reset becomes a task: a power-on waits for a download of an image, and
 * libvirt needs 12 s to destroy a QEMU process that hangs.
 */
async function reset(
  system: SystemSnapshot,
  type: ResetType,
  { services, requester }: Pick<ResourceRequest<Services, unknown>, 'services' | 'requester'>,
): Promise<WriteResult | undefined> {
  const action = resetTypes[type];
  if (services.settings.disablePowerOff && switchesOff(action, system)) {
    const fault = about(message('ActionParameterValueConflict', 'ResetType', type), '#/ResetType');
    throw new RedfishError(400, [withDetail(fault, 'EMULATOR_DISABLE_POWER_OFF is set.')]);
  }
  return runLongOperation(
    {
      name: `${type} of ${system.name}`,
      requester,
      // A client can cancel while the reset waits for an image. A running libvirt call cannot stop.
      cancellable: cancellable.has(action),
      context: {
        action: resetAction,
        body: { ResetType: type },
        path: `/redfish/v1/Systems/${system.uuid}/Actions/${resetAction}`,
      },
      run: async ({ signal }) => {
        try {
          await services.driver.power(system.uuid, action, { signal });
        } catch (error) {
          throw explain(error, action, system);
        }
        return undefined;
      },
    },
    services.operations,
  );
}

const cancellable: ReadonlySet<PowerAction> = new Set(['create', 'reboot', 'reset', 'cycle', 'pressButton']);
const needsGuest: ReadonlySet<PowerAction> = new Set([
  'shutdown',
  'reboot',
  'injectNmi',
  'suspend',
  'resume',
  'pmSuspend',
]);

/** Returns whether an action switches the machine off. */
function switchesOff(action: PowerAction, { state }: SystemSnapshot): boolean {
  if (action === 'pressButton') return state !== 'shutoff' && state !== 'pmsuspended';
  return action === 'destroy' || action === 'shutdown' || action === 'pmSuspend';
}

/** Translates driver errors of a reset that have a Redfish message of their own. */
function explain(error: unknown, action: PowerAction, { uuid, state }: SystemSnapshot): unknown {
  if (!(error instanceof DriverError)) return error;
  if (error.kind === 'conflict' && state === 'shutoff' && needsGuest.has(action)) {
    return refuse('ChassisPowerStateOnRequired', uuid);
  }
  // The action exists and only this type fails: BMCs and sushy-tools return 400 for such a type.
  if (error.kind !== 'unsupported' || action !== 'pmSuspend') return error;
  const fault = about(message('ActionParameterValueConflict', 'ResetType', 'Suspend'), '#/ResetType');
  return new RedfishError(400, [withDetail(fault, `${error.message}.`)], {}, error);
}

/** The collection of systems and its members. */
export const computerSystemResources = [systemCollection, computerSystem];
