/** Translates servers into snapshots. */
import type { FirmwareSnapshot } from '../../snapshot/firmware-snapshot.js';
import type { DomainState, SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { Port } from './compute-api.js';
import { disksOf } from './server-disks.js';
import type { Server } from './server.js';

/** No machine of QEMU has more processors. */
const MAX_SOCKETS = 4096;
/**
 * Tasks of Nova (`task_state`) after which a server is off. A task that is in none of these sets neither starts nor
 * stops a guest, or is not known.
 * @see https://opendev.org/openstack/nova/src/branch/master/nova/compute/task_states.py
 */
const stopping: ReadonlySet<string> = new Set([
  ...['powering-off', 'suspending', 'deleting', 'soft-deleting'],
  ...['shelving', 'shelving_image_pending_upload', 'shelving_image_uploading', 'shelving_offloading'],
]);
/** Tasks of Nova after which a guest runs. */
const starting: ReadonlySet<string> = new Set([
  ...['scheduling', 'block_device_mapping', 'networking', 'spawning'],
  ...['rebooting', 'reboot_pending', 'reboot_started', 'rebooting_hard', 'reboot_pending_hard', 'reboot_started_hard'],
  ...['powering-on', 'resuming', 'rescuing', 'unrescuing', 'restoring', 'unshelving'],
]);
/** Tasks of Nova that start the guest again, unless the server was off before. */
const restarting: ReadonlySet<string> = new Set([
  ...['resize_migrating', 'resize_migrated', 'resize_finish', 'resize_reverting'],
  ...['rebuilding', 'rebuild_block_device_mapping', 'rebuild_spawning'],
]);
/** Tasks of Nova during which a running guest continues, and after which it still runs. */
const harmless: ReadonlySet<string> = new Set([
  ...['image_snapshot', 'image_snapshot_pending', 'image_pending_upload', 'image_uploading', 'image_backup'],
  ...['updating_password', 'migrating', 'resize_confirming'],
]);
/** States of a server without a guest. */
const withoutGuest: ReadonlySet<string> = new Set([
  ...['building', 'stopped', 'suspended', 'shelved', 'shelved_offloaded', 'deleted'],
]);
const NO_STATE = 0;
const PAUSED = 3;
const OFF = 4;
const CRASHED = 6;
const SUSPENDED = 7;

/**
 * Returns the state of a server, without regard to its running task of Nova. Nova may notice late that a
 * guest has stopped, so `running` may be outdated.
 */
export function stateOf({ vmState, powerState }: Pick<Server, 'vmState' | 'powerState'>): DomainState {
  if (withoutGuest.has(vmState)) return 'shutoff';
  if (vmState === 'paused' || powerState === PAUSED) return 'paused';
  if (powerState === OFF || powerState === SUSPENDED) return 'shutoff';
  if (powerState === CRASHED) return 'crashed';
  // A server whose build failed has never had a guest.
  return vmState === 'error' && powerState === NO_STATE ? 'shutoff' : 'running';
}

/** Returns whether Nova executes a task that ends with a running server. */
export function isStarting({ task, vmState, powerState }: Pick<Server, 'task' | 'vmState' | 'powerState'>): boolean {
  if (task === null) return false;
  return starting.has(task) || (restarting.has(task) && vmState !== 'stopped' && powerState !== OFF);
}

/**
 * Returns whether a server runs, and continues to run during and after its task of Nova. Without a task: whether it
 * runs.
 */
export function staysOn(server: Pick<Server, 'task' | 'vmState' | 'powerState'>): boolean {
  return stateOf(server) === 'running' && (server.task === null || harmless.has(server.task));
}

/**
 * Returns the processors. By default, Nova gives each processor its own socket. The flavor or the image
 * can change this. A count that no host supports becomes one socket, so that the list of sockets
 * stays short.
 */
function topologyOf({ vcpus: count }: Pick<Server['flavor'], 'vcpus'>): NonNullable<SystemSnapshot['processors']> {
  const [sockets, coresPerSocket] = count > MAX_SOCKETS ? [1, count] : [count, 1];
  return { count, sockets, coresPerSocket, threadsPerCore: 1, model: null };
}

/**
 * Returns the processors and the memory of a flavor as firmware settings. The boot mode and Secure Boot also depend
 * on the properties of the image, so ../inventory adds both.
 */
function flavorFirmware({ vcpus: cpuCount, ramMiB: memoryMiB }: Server['flavor']): FirmwareSnapshot {
  const settings = { cpuCount, memoryMiB, firmware: null, secureBoot: null, networkBoot: null, kept: {} };
  const secureBoot = { enabled: null, current: null, enrolled: null };
  return { secureBoot, settings, pending: {}, failure: null, limits: { cpuCount, memoryMiB } };
}

/**
 * Returns the snapshot of a server.
 * @param ports undefined: not known. The snapshot then lacks ports without an IP address.
 */
export function snapshotOf(server: Server, ports: readonly Port[] | undefined): SystemSnapshot {
  const { id: uuid, name, description, flavor, macs, task } = server;
  const state = stateOf(server);
  const interfaces = ports ?? macs.map((mac) => ({ mac, network: null, isActive: true }));
  return {
    uuid,
    name,
    description,
    state: task !== null && stopping.has(task) ? 'shutdown' : state,
    ...(isStarting(server) ? { starting: true as const } : {}),
    ...(server.vmState === 'error' ? { failure: 'crashed' as const } : {}),
    // Always true: whether Nova records the output is only known after a request for the output.
    hasConsoleOutput: true,
    ...(server.fault === null ? {} : { fault: server.fault }),
    processors: topologyOf(flavor),
    memoryKiB: flavor.ramMiB * 1024,
    disks: disksOf(server),
    firmware: flavorFirmware(flavor),
    interfaces: interfaces.map(({ mac, network, isActive }) => ({
      mac,
      type: 'network',
      source: network,
      model: null,
      linkUp: isActive,
    })),
  };
}
