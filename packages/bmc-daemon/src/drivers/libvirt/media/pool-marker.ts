/**
 * Marks a pool whose directory this process cannot open, for example because it is on another host. Hosts that mount
 * the same directory see the same mark: an empty volume, whose name identifies the directory.
 */
import { randomBytes } from 'node:crypto';
import { isLibvirtError, type StoragePool } from '@rackless/libvirt';
import type { SharedPools } from './shared-pools.js';

/**
 * Returns the mark of a pool, and creates it if there is none.
 * @returns null if no mark can be created: the pool is read-only, full or busy.
 * @throws {LibvirtError} if the host does not answer.
 */
export async function markOf(pool: StoragePool, pools: SharedPools, timeoutMs: number): Promise<string | null> {
  const options = { timeoutMs };
  const find = async (): Promise<string | undefined> => {
    // Another host may have created the mark. libvirt then lists it only after a refresh.
    await pool.refresh(options).catch((error: unknown) => {
      // Ignores other errors: a pool with a running upload rejects a refresh.
      if (isUnanswered(error)) throw error;
    });
    const names = (await pool.listAllVolumes(options)).map(({ name }) => name);
    return names.filter((name) => /^rackless-pool-[0-9a-f]{32}$/.test(name)).toSorted()[0];
  };
  const create = async (): Promise<string> => {
    const name = `rackless-pool-${randomBytes(16).toString('hex')}`;
    const xml = `<volume><name>${name}</name><capacity>0</capacity><target><format type='raw'/></target></volume>`;
    await pool.storageVolCreateXml(xml, 0, options);
    return name;
  };
  try {
    // Creates marks for one host at a time, because two hosts at the same time would create two marks.
    return (await find()) ?? (await pools.inTurn(async () => (await find()) ?? (await create())));
  } catch (error) {
    if (isLibvirtError(error) && !isUnanswered(error)) return null;
    throw error;
  }
}

const isUnanswered = (error: unknown): boolean =>
  isLibvirtError(error, 'CALL_TIMEOUT', 'CONNECTION_LOST', 'NOT_CONNECTED', 'LINK_CLOSED');
