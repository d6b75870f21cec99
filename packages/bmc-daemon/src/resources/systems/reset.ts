/** ComputerSystem.Reset: power actions of a machine. */
import { DriverError } from '../../drivers/driver-error.js';
import type { PowerAction } from '../../drivers/power.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, sentence, withDetail } from '../../redfish/messages/messages.js';
import type { ResourceRequest, WriteResult } from '../../redfish/resource.js';
import { runLongOperation } from '../../redfish/tasks/long-operation.js';
import type { Services } from '../services.js';

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
  // DMTF defines Suspend as: the guest writes its state to disk, and the power goes off.
  Suspend: 'pmSuspend',
} as const satisfies Readonly<Record<string, PowerAction>>;

/**
 * The reset types, in the order in which the service lists them.
 * @see DSP2046, ResetType
 */
export const resetTypeNames = [
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

/** Returns the reset types whose power action the driver supports. */
export function supportedResets({ driver }: Pick<Services, 'driver'>): readonly ResetType[] {
  return resetTypeNames.filter((type) => driver.powerActions.has(resetTypes[type]));
}

/** Maximum age of data before a reset. The driver reads the machine again for the reset itself. */
const KNOWN_MS = 15_000;

/** Returns data of the machine that may be 15 s old: a new read for each reset would double the requests to a cloud. */
export function knownSystem(driver: Services['driver'], id: string): Promise<SystemSnapshot> {
  return driver.getSystem(id, [], { maxAgeMs: KNOWN_MS });
}

/**
 * Executes a reset. A slow reset becomes a task: a power-on waits for a download of an image, and
 * libvirt needs 12 s to destroy a QEMU process that hangs.
 * @throws {RedfishError} 400 if the driver does not support the type, EMULATOR_DISABLE_POWER_OFF rejects it, or
 *   the machine cannot suspend; 409 ChassisPowerStateOnRequired if the machine is off and must be on.
 * @throws {DriverError} another error of the driver. Throws only before the request becomes a task.
 */
export async function reset(
  system: SystemSnapshot,
  type: ResetType,
  { services, requester }: Pick<ResourceRequest<Services, unknown>, 'services' | 'requester'>,
): Promise<WriteResult | undefined> {
  const action = resetTypes[type];
  if (!services.driver.powerActions.has(action)) {
    const fault = message('ActionParameterValueNotInList', type, 'ResetType', resetAction);
    throw new RedfishError(400, [withPointers(fault, '#/ResetType')]);
  }
  if (services.settings.disablePowerOff && switchesOff(action, system)) {
    const fault = withPointers(message('ActionParameterValueConflict', 'ResetType', type), '#/ResetType');
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

/** Returns whether an action switches the machine off, or asks the guest to do this, and leaves it off. */
function switchesOff(action: PowerAction, { state }: SystemSnapshot): boolean {
  if (action === 'pressButton') return state !== 'shutoff' && state !== 'pmsuspended';
  return action === 'destroy' || action === 'shutdown' || action === 'pmSuspend';
}

/** Translates errors of a reset that have a specific Redfish message. Returns other errors unchanged. */
function explain(error: unknown, action: PowerAction, { uuid, state }: SystemSnapshot): unknown {
  if (!(error instanceof DriverError)) return error;
  if (error.kind === 'conflict' && state === 'shutoff' && needsGuest.has(action)) {
    return redfishError('ChassisPowerStateOnRequired', uuid);
  }
  // The action exists and only this type fails: BMCs and sushy-tools return 400 for such a type.
  if (error.kind !== 'unsupported' || action !== 'pmSuspend') return error;
  const fault = withPointers(message('ActionParameterValueConflict', 'ResetType', 'Suspend'), '#/ResetType');
  return new RedfishError(400, [withDetail(fault, sentence(error.message))], {}, error);
}
