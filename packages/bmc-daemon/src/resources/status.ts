/** Renders `Status` and `PowerState`. */
import type { HostSnapshot } from '../drivers/hosts-control.js';
import type { MachineFault, SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import type { JsonObject } from '../redfish/resource.js';
import { resourceEventRegistry, resourceEventTable } from '../redfish/messages/resource-event-registry.js';

/**
 * Status of a present resource without subordinate resources, which therefore has no HealthRollup.
 */
export const enabled: JsonObject = { State: 'Enabled', Health: 'OK' };

/** Status of a resource that a virtual machine does not have. It has no Health. */
export const absent: JsonObject = { State: 'Absent' };

/** Status of a resource that the machine gets at its next power-on. */
export const waiting: JsonObject = { State: 'StandbyOffline', Health: 'OK' };

/** Status of a configured resource that is missing. */
export const unavailable: JsonObject = { State: 'UnavailableOffline', Health: 'Critical' };

/** Status of a resource whose subordinate resources are healthy. */
export const enabledWithParts: JsonObject = { ...enabled, HealthRollup: 'OK' };

/** The fields of a machine that status and power state depend on. */
type StatusFields = Pick<
  SystemSnapshot,
  'name' | 'host' | 'state' | 'failure' | 'fault' | 'starting' | 'unansweredSince' | 'unreachable' | 'duplicates'
>;

/**
 * Returns the status of a machine. State is Enabled, even while the machine is off, or
 * UnavailableOffline while the host does not answer. Health is Critical after a failure of the guest,
 * its process or a disk, until the next start. Otherwise, Health is Warning in three cases: the hypervisor reports
 * a failure, the hypervisor or the host does not answer, or several hosts have a machine with this UUID.
 * @see DSP2046, Status
 */
export function systemStatus(machine: StatusFields): JsonObject {
  const { name, state, failure, fault, unansweredSince, unreachable } = machine;
  const isBroken = state === 'crashed' || (failure ?? null) !== null;
  const conditions = [
    ...(fault === undefined ? [] : [faultCondition(name, fault)]),
    ...(unansweredSince === undefined ? [] : [silenceCondition(name, unansweredSince)]),
    ...hostConditions(machine),
  ];
  if (!isBroken && conditions.length === 0) return enabledWithParts;
  const health = isBroken ? 'Critical' : 'Warning';
  const status = {
    State: unreachable === undefined ? 'Enabled' : 'UnavailableOffline',
    Health: health,
    HealthRollup: health,
  };
  return conditions.length === 0 ? status : { ...status, Conditions: conditions };
}

/** Returns the status of a host, with the reason if it does not answer. */
export function hostStatus({ name, reachable, reason, since }: HostSnapshot): JsonObject {
  if (reachable) return enabledWithParts;
  const { severity, text } = resourceEventTable.ResourceStatusChangedCritical;
  const condition = {
    MessageId: `${resourceEventRegistry}.ResourceStatusChangedCritical`,
    MessageArgs: [name, severity],
    Message: `${text.replace('%1', () => name).replace('%2', severity)} The host does not answer: ${reason ?? 'no reason'}`,
    Severity: severity,
    Resolution: 'Check that the host runs and is reachable, and that libvirt runs on it.',
    Timestamp: since.toISOString(),
  };
  return { ...unavailable, HealthRollup: 'Critical', Conditions: [condition] };
}

/** Renders the hypervisor's report of a failure as a member of `Status.Conditions`. */
function faultCondition(name: string, { message, at }: MachineFault): JsonObject {
  const { severity, text } = resourceEventTable.ResourceStatusChangedCritical;
  return {
    MessageId: `${resourceEventRegistry}.ResourceStatusChangedCritical`,
    MessageArgs: [name, severity],
    Message: `${text.replace('%1', () => name).replace('%2', severity)} The hypervisor reports: ${message}`,
    Severity: severity,
    ...(at === null ? {} : { Timestamp: at.toISOString() }),
  };
}

function silenceCondition(name: string, since: Date): JsonObject {
  const detail = 'The hypervisor does not answer for this machine. These are the last known values.';
  return {
    ...warningCondition(name, detail, 'If the machine hangs, ForceOff and ForceRestart end its process.'),
    Timestamp: since.toISOString(),
  };
}

/** Renders the conditions that the hosts of a machine cause. */
function hostConditions({ name, host = '', unreachable, duplicates }: StatusFields): readonly JsonObject[] {
  const lost =
    unreachable === undefined
      ? []
      : [
          {
            ...warningCondition(
              name,
              `Host ${host} does not answer: ${unreachable.reason}. This is the last known data of the machine.`,
              `Check host ${host} and the network to it. Changes fail until it answers.`,
            ),
            Timestamp: unreachable.since.toISOString(),
          },
        ];
  if (duplicates === undefined) return lost;
  const hosts = duplicates.join(' and ');
  const detail = `Hosts ${hosts} have a machine with this UUID. This is the machine of host ${host}.`;
  return [...lost, warningCondition(name, detail, 'Remove the machine from all hosts but one.')];
}

/** Renders a member of `Status.Conditions` without a time. */
function warningCondition(name: string, detail: string, resolution: string): JsonObject {
  const { severity, text } = resourceEventTable.ResourceStatusChangedWarning;
  return {
    MessageId: `${resourceEventRegistry}.ResourceStatusChangedWarning`,
    MessageArgs: [name, severity],
    Message: `${text.replace('%1', () => name).replace('%2', severity)} ${detail}`,
    Severity: severity,
    Resolution: resolution,
  };
}

/**
 * Returns the power state of a machine. On: it has a QEMU process, even if the guest sleeps or
 * crashed. PoweringOff: the guest stopped and its process ends soon. A guest that received a
 * shutdown request is On, because it can ignore the request. PoweringOn: the start of the guest is
 * not complete. Paused: it has a QEMU process, but its vCPUs do not run.
 * @see DSP2046, PowerState; https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainState
 */
export function powerState({
  state,
  starting,
}: Pick<StatusFields, 'state' | 'starting'>): 'On' | 'Off' | 'PoweringOn' | 'PoweringOff' | 'Paused' {
  if (starting === true) return 'PoweringOn';
  if (state === 'shutoff') return 'Off';
  if (state === 'shutdown') return 'PoweringOff';
  return state === 'paused' ? 'Paused' : 'On';
}
