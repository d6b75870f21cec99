/**
 * The UUID of the service root. It is the same after every restart if the host has a machine id or
 * the state folder is writable, and different for every host and every service of a host. Replicas share the
 * UUID of the first one.
 */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { Settings } from './config/settings.js';
import { unreadableError } from './replicas/entry-changes.js';
import { readTrimmed, storedUuid } from './stored-uuid.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';

/** Options of {@link serviceUuid}. */
interface ServiceUuidOptions {
  /** Distinguishes the services of one host, such as `qemu:///system 8000`. */
  readonly service: string;
  readonly stateDir: string;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Default: /etc/machine-id. @see machine-id(5) */
  readonly machineIdFile?: string;
}

/**
 * Returns the UUID of the service, in lower case. It is derived from the machine id. On a host
 * without a machine id, such as a container, it is stored in the state folder. If that fails, the
 * UUID is new after each start, and a warning is logged. Never throws.
 */
export function serviceUuid(options: ServiceUuidOptions): string {
  const { service, stateDir, log, machineIdFile = '/etc/machine-id' } = options;
  const machineId = readTrimmed(machineIdFile);
  // machine-id(5): the id must not leave the host unhashed.
  if (/^[0-9a-f]{32}$/.test(machineId))
    return toUuid(createHmac('sha256', machineId).update(`bmc-daemon ${service}`).digest());

  return storedUuid({ owner: 'service', stateDir, log });
}

/**
 * Returns the UUID of the service. All replicas have the UUID of the replica that was started first.
 * @throws {StoreUnavailable} if the store does not answer.
 * @throws {ChangeRefused} if another version has stored the UUID in a form that this replica cannot read.
 */
export async function uuidOf(
  { stateDir, store }: { readonly stateDir: string; readonly store: SharedStore | null },
  { settings, log }: { readonly settings: Settings; readonly log: Pick<Log, 'warn' | 'error'> },
): Promise<string> {
  const { fakeDriver, osCloud, libvirtUri } = settings;
  // The UUID does not depend on the hosts of a list, which may change.
  const libvirt = typeof libvirtUri === 'string' ? libvirtUri : 'libvirt hosts';
  const hypervisor = fakeDriver ? 'fake' : (osCloud ?? libvirt);
  const own = serviceUuid({ service: `${hypervisor} ${settings.listenPort}`, stateDir, log });
  if (store === null) return own;
  await store.commit([{ kind: 'service', id: 'uuid', expected: 0, value: { uuid: own } }]);
  const { data } = z.object({ uuid: z.string() }).safeParse(store.get('service', 'uuid')?.value);
  if (data === undefined) throw unreadableError('the UUID of the service');
  return data.uuid;
}

/** RFC 9562 §5.8: a version 8 UUID may have any content. */
function toUuid(digest: Buffer): string {
  const hex = digest.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-b${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
