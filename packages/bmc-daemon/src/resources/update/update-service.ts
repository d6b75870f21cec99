/**
 * Simulated firmware updates, as in sushy-tools, for tests of update tools. Clients see a whole
 * update, up to the new version after the next reset. The service downloads nothing and changes no
 * firmware.
 */
import { z } from 'zod';
import { isDriverError } from '../../drivers/driver-error.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { toRedfishError } from '../../redfish/messages/driver-errors.js';
import { withPointers, message, withDetail, type Message } from '../../redfish/messages/messages.js';
import type { JsonObject, WriteResult } from '../../redfish/resource.js';
import { decodeSegment } from '../../redfish/rendering.js';
import { taskMonitorUri, taskUri } from '../../redfish/tasks/task-store.js';
import { firmwareUri, firmwareVersion } from './firmware-inventory.js';
import { inOrder } from '../members.js';
import { parseUrl } from '../parse-url.js';
import { reference } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabled } from '../status.js';

const transferProtocols = ['HTTP', 'HTTPS'] as const;
const action = 'UpdateService.SimpleUpdate';
const path = `/redfish/v1/UpdateService/Actions/${action}`;

const updateService = defineResource({
  entity: 'UpdateService',
  odataType: '#UpdateService.v1_17_0.UpdateService',
  uri: '/redfish/v1/UpdateService',
  load: async ({ services }) => inOrder(await services.driver.listSystems(), 'ascending'),
  render: (_machines, { self, services }): JsonObject => ({
    Id: 'UpdateService',
    Name: 'Update Service',
    Description: 'Simulated: an update changes the shown version, but not the firmware',
    ServiceEnabled: true,
    FirmwareInventory: reference(`${self}/FirmwareInventory`),
    ...(services.driver.hosts === undefined ? {} : { SoftwareInventory: reference(`${self}/SoftwareInventory`) }),
    Status: enabled,
  }),
  actions: {
    '#UpdateService.SimpleUpdate': {
      available: (_machines, { driver }) => driver.changeable.has('firmwareVersion'),
      body: z.strictObject({
        ImageURI: z.string().min(1).max(2_000),
        TransferProtocol: z.enum(transferProtocols).optional(),
        Targets: z.array(z.string().max(500)).max(1_000).optional(),
        Username: z.string().max(500).optional(),
        Password: z.string().max(500).optional(),
      }),
      parameters: (machines): JsonObject => ({
        'ImageURI@Redfish.AllowableValues': [],
        'TransferProtocol@Redfish.AllowableValues': transferProtocols,
        'Targets@Redfish.AllowableValues': machines.map(({ uuid }) => firmwareUri(uuid)),
        'Username@Redfish.AllowableValues': [],
        'Password@Redfish.AllowableValues': [],
      }),
      run: async (machines, { ImageURI, Targets = [], TransferProtocol }, { services, requester }) => {
        const image = imageOf(ImageURI, TransferProtocol);
        // Targets is optional only with a single machine, so that no client updates all machines by
        // mistake.
        if (Targets.length === 0 && machines.length !== 1)
          throw redfishError('ActionParameterMissing', action, 'Targets');
        const ids = Targets.length === 0 ? machines.map(({ uuid }) => uuid) : Targets.map(machineOf);
        const systems = await Promise.all(ids.map((id, index) => loadTarget(id, Targets[index] ?? id, services)));
        const { user, address } = requester;
        return startUpdate(new Set(systems), image, { user, address }, services);
      },
    },
  },
});

/** Parses ImageURI. @throws {RedfishError} 400 if it is not an HTTP or HTTPS URL. */
function imageOf(uri: string, protocol: (typeof transferProtocols)[number] | undefined): URL {
  // DMTF: if ImageURI has no scheme, TransferProtocol applies, and without TransferProtocol HTTP.
  const text = /^[a-z][a-z\d+.-]*:/i.test(uri)
    ? uri
    : `${(protocol ?? 'HTTP').toLowerCase()}://${uri.replace(/^\/+/, '')}`;
  const url = parseUrl(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  // The message does not quote the URL, which can contain a password.
  throw new RedfishError(400, [withPointers(message('ActionParameterValueError', 'ImageURI', action), '#/ImageURI')]);
}

/**
 * Returns the machine id of a target. A target is the firmware of a machine or, as clients of
 * sushy-tools send it, the system or its Bios.
 * @throws {RedfishError} 400 for any other URI.
 */
function machineOf(uri: string): string {
  const found =
    /^\/redfish\/v1\/UpdateService\/FirmwareInventory\/BIOS-([^/]+)\/?$/.exec(uri)?.[1] ??
    /^\/redfish\/v1\/Systems\/([^/]+)(?:\/(?:Bios|BIOS))?\/?$/.exec(uri)?.[1];
  if (found === undefined) throw notATargetError(uri);
  return decodeSegment(found);
}

/**
 * Loads the machine of a target.
 * @throws {RedfishError} 400 for an unknown machine.
 * @throws {DriverError} for other failures of the driver.
 */
async function loadTarget(id: string, uri: string, { driver }: Services): Promise<SystemSnapshot> {
  try {
    return await driver.getSystem(id);
  } catch (error) {
    throw isDriverError(error, 'notFound') ? notATargetError(uri) : error;
  }
}

function notATargetError(uri: string): RedfishError {
  return new RedfishError(400, [
    withPointers(message('ActionParameterValueNotInList', uri, 'Targets', action), '#/Targets'),
  ]);
}

/**
 * Starts an update as a task, as clients expect. The task completes when the new versions of all machines wait
 * for a reset. It fails at the first error of the driver; the machines before this one keep their new version.
 */
function startUpdate(
  systems: ReadonlySet<SystemSnapshot>,
  image: URL,
  owner: { readonly user: string | null; readonly address: string },
  services: Services,
): WriteResult {
  const { tasks, onTaskFailed } = services.operations;
  const [first, ...others] = [...systems].map(({ name }) => name);
  // The task's name does not list several machines, because the task is also visible to a client with
  // access to only one of them.
  const updated = others.length === 0 ? first : `${systems.size} machines`;
  const machines = [...systems].map(({ uuid }) => uuid);
  const { id, name } = tasks.create({ name: `Update the firmware of ${updated}`, targetUri: path, machines, owner });
  const work = async (): Promise<readonly Message[]> => {
    const messages: Message[] = [];
    for (const system of systems) {
      const version = nextVersion(image, firmwareVersion(system));
      await services.driver.change(system.uuid, { firmwareVersion: version });
      const required = message(
        'ResetRequired',
        `/redfish/v1/Systems/${system.uuid}/Actions/ComputerSystem.Reset`,
        'ForceRestart',
      );
      messages.push(withDetail(required, `Version ${version} is installed then. This update is simulated.`));
    }
    return messages;
  };
  work().then(
    (messages) => tasks.complete(id, messages),
    (error: unknown) => {
      const failure = toRedfishError(error, { action, path });
      tasks.fail(id, failure);
      onTaskFailed(failure, name);
    },
  );
  return { task: { monitor: taskMonitorUri(id), task: taskUri(id) } };
}

/**
 * Returns the version after an update: the version in the image's file name (`bios-1.5.2.bin`),
 * else the current version with its last number incremented, as in sushy-tools. A current version without a
 * number gets `.1`.
 * @param current null if unknown; the version after the update is then `1.0.0`.
 */
export function nextVersion(image: URL, current: string | null): string {
  const file = image.pathname.split('/').at(-1) ?? '';
  const named = /(?<![\d.])\d+(?:\.\d+)+/.exec(file)?.[0];
  if (named !== undefined) return named;
  if (current === null) return '1.0.0';
  const next = current.replace(/(?<!\d)\d+(?=\D*$)/, (lastNumber) => String(BigInt(lastNumber) + 1n));
  return next === current ? `${current}.1` : next;
}

/**
 * The update service.
 * @see DSP2046, UpdateService
 */
export const updateServiceResources = [updateService];
