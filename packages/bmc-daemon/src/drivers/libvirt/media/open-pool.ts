/**
 * Opens the storage pool for images: the configured pool, or else a directory pool that the daemon
 * creates. The daemon checks that libvirt sees the same directory, and then writes files there. If
 * the check fails, for example with a remote host, the daemon sends images as libvirt streams.
 */
import { randomBytes } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isLibvirtError, StoragePoolState, type Hypervisor, type StoragePool } from '@rackless/libvirt';
import { partImageName, storedImageName } from '../../../media/image-key.js';
import { DriverError } from '../../driver-error.js';
import { isOnThisHost, isSession } from '../connection-uri.js';
import { attempt } from '../failure.js';
import { parseXml } from '../xml/parse.js';
import { markOf } from './pool-marker.js';
import type { SharedPools } from './shared-pools.js';
import { attribute, child, childElements, textOf, type XmlElement } from '../xml/tree.js';

/** Name of the pool that the daemon creates if none is configured. */
export const DEFAULT_POOL = 'rackless-images';

/** Pools whose volumes are files in one directory. */
const DIRECTORY_POOLS: ReadonlySet<string> = new Set(['dir', 'fs', 'netfs']);

/** Options of {@link openPool}. */
interface PoolOptions {
  readonly hypervisor: Hypervisor;
  /**
   * Connection URI. With a session connection, the default pool is in the user's data folder
   * (XDG_DATA_HOME).
   */
  readonly uri: string;
  /** EMULATOR_STORAGE_POOL; null: the daemon's default pool. */
  readonly name: string | null;
  /** Whether to create the default pool if it does not exist. */
  readonly create: boolean;
  readonly timeoutMs: number;
  /** The pools of all hosts; undefined: there is only one host. */
  readonly pools?: SharedPools | undefined;
}

/** An active pool. */
export interface ActivePool {
  readonly pool: StoragePool;
  /**
   * The pool's directory if libvirt sees the files that this process writes there; null: images must go
   * through libvirt streams.
   */
  readonly directory: string | null;
  /**
   * A text that identifies the pool: hosts that share a pool have equal texts. Null: no host is known to
   * share it.
   */
  readonly identity: string | null;
}

/**
 * Finds or creates the pool, and starts it.
 * @returns null if there is no default pool and `create` is false.
 * @throws {DriverError} unsupported, if the configured pool does not exist, or if the default pool would be in the
 *   home folder of a user on another host; unavailable, if libvirt does not answer; for other errors see
 *   {@link attempt}.
 */
export async function openPool(options: PoolOptions): Promise<ActivePool | null> {
  const { timeoutMs } = options;
  return await attempt(openingPool(options), async () => {
    const pool = await startPool(options);
    if (pool === null) return null;
    const { root } = parseXml(await pool.getXmlDesc(0, { timeoutMs }));
    const directory = directoryOf(root);
    const reachable = directory !== null && (await isSameDirectory(pool, directory, timeoutMs));
    if (!reachable) {
      const { pools } = options;
      const identity = networkIdentity(root);
      // A pool without another identity gets a mark, an empty volume, that the other hosts find.
      const needsMark = identity === null && directory !== null && pools !== undefined;
      return { pool, directory: null, identity: needsMark ? await markOf(pool, pools, timeoutMs) : identity };
    }
    const { dev, ino } = await stat(directory);
    return { pool, directory, identity: `directory ${dev}:${ino}` };
  });
}

/**
 * Finds or creates the pool, and starts it, as {@link openPool}. Returns only libvirt's handle of the pool, and does
 * not examine its directory.
 * @returns null as {@link openPool}.
 * @throws {DriverError} as {@link openPool}.
 */
export async function startedPool(options: PoolOptions): Promise<StoragePool | null> {
  return await attempt(openingPool(options), () => startPool(options));
}

const openingPool = ({ name }: PoolOptions): string => `opening storage pool ${name ?? DEFAULT_POOL}`;

async function startPool(options: PoolOptions): Promise<StoragePool | null> {
  const { timeoutMs } = options;
  const pool = await lookUp(options, options.name ?? DEFAULT_POOL);
  if (pool === null) return null;
  const { state } = await pool.getInfo({ timeoutMs });
  if (state === StoragePoolState.INACTIVE) await start(pool, { isDefault: options.name === null, timeoutMs });
  return pool;
}

/** Returns whether the volumes of a pool are files in one directory. */
export async function isDirectoryPool(pool: StoragePool, timeoutMs: number): Promise<boolean> {
  return directoryOf(parseXml(await pool.getXmlDesc(0, { timeoutMs })).root) !== null;
}

async function lookUp(options: PoolOptions, name: string): Promise<StoragePool | null> {
  const { hypervisor, timeoutMs } = options;
  try {
    return await hypervisor.storagePoolLookupByName(name, { timeoutMs });
  } catch (error) {
    if (!isLibvirtError(error, 'NO_STORAGE_POOL')) throw error;
    if (options.name !== null) {
      throw new DriverError('unsupported', `opening storage pool ${name}: the host has no such pool`, { cause: error });
    }
    if (!options.create) return null;
    return await defineDefaultPool(options);
  }
}

async function defineDefaultPool({ hypervisor, uri, timeoutMs }: PoolOptions): Promise<StoragePool> {
  const path = defaultPoolDirectory(uri);
  const xml = `<pool type='dir'><name>${DEFAULT_POOL}</name><target><path>${path}</path></target></pool>`;
  try {
    return await hypervisor.storagePoolDefineXml(xml, 0, { timeoutMs });
  } catch (error) {
    // Another daemon on this host may have created the pool. If there is no pool, throws the first
    // error.
    return await hypervisor.storagePoolLookupByName(DEFAULT_POOL, { timeoutMs }).catch(() => {
      throw error;
    });
  }
}

async function start(
  pool: StoragePool,
  { isDefault, timeoutMs }: { isDefault: boolean; timeoutMs: number },
): Promise<void> {
  if (isDefault) {
    // Ignores an error: the directory may exist already, and the test driver does not support
    // `build`. The start of the pool reports real errors.
    await pool.build(0, { timeoutMs }).catch(() => undefined);
    await pool.setAutostart(true, { timeoutMs }).catch(() => undefined);
  }
  try {
    await pool.create(0, { timeoutMs });
  } catch (error) {
    // Another client has started the pool.
    if (!isLibvirtError(error, 'OPERATION_INVALID')) throw error;
  }
}

/**
 * Returns the folder of the default pool. It is next to libvirt's other images, where access rules (SELinux,
 * AppArmor) let QEMU read.
 * @throws {DriverError} unsupported, for the session libvirt of a user on another host.
 */
export function defaultPoolDirectory(uri: string): string {
  if (!isSession(uri)) return '/var/lib/libvirt/images/rackless';
  if (!isOnThisHost(uri)) {
    throw new DriverError(
      'unsupported',
      `creating storage pool ${DEFAULT_POOL}: the home folder of a user on another host is unknown; ` +
        'set EMULATOR_STORAGE_POOL to a pool of that user',
    );
  }
  const { XDG_DATA_HOME: data } = process.env;
  return join(data === undefined || data === '' ? join(homedir(), '.local', 'share') : data, 'libvirt/images/rackless');
}

/**
 * Returns the identity of a pool on a server: the type and the source, without the credentials and the iSCSI
 * initiator, which differ between hosts. Null for a pool without a server.
 */
function networkIdentity(root: XmlElement): string | null {
  const source = child(root, 'source');
  if (childElements(source, 'host').length === 0) return null;
  const parts = childElements(source)
    .filter(({ name }) => name !== 'auth' && name !== 'initiator')
    .map(({ name, attributes, text }) => [name, attributes.map((each) => [each.name, each.value]), text.trim()]);
  return JSON.stringify([attribute(root, 'type'), parts]);
}

function directoryOf(root: XmlElement): string | null {
  return DIRECTORY_POOLS.has(attribute(root, 'type') ?? '') ? textOf(child(root, 'target', 'path')) : null;
}

/**
 * Returns whether a file that this process writes is a volume of the pool. If libvirtd runs in a
 * container or in a mount namespace, or its socket is forwarded, the same path may be another
 * directory. Returns false if the check is impossible, for example while the pool is busy.
 * @throws {LibvirtError} for every other error, for example if libvirt does not answer.
 */
async function isSameDirectory(pool: StoragePool, directory: string, timeoutMs: number): Promise<boolean> {
  const validator = { etag: randomBytes(16).toString('hex'), lastModified: null, sizeBytes: null };
  // The file has the name of a partial download. So if a crash leaves the file, the image store removes it later.
  const name = partImageName(storedImageName('probe', validator));
  const file = join(directory, name);
  try {
    await writeFile(file, 'rackless', { flag: 'wx' });
  } catch {
    // The directory does not exist, or this process may not write to it. A stream works in both
    // cases.
    return false;
  }
  try {
    await pool.refresh({ timeoutMs });
    const volume = await pool.storageVolLookupByName(name, { timeoutMs });
    return (await volume.getPath({ timeoutMs })) === file;
  } catch (error) {
    if (isLibvirtError(error, 'NO_STORAGE_VOL', 'NO_SUPPORT')) return false;
    // The pool is busy with another refresh or an upload, so the check is impossible. A stream
    // works in any case.
    if (isLibvirtError(error, 'INTERNAL_ERROR', 'OPERATION_INVALID', 'RESOURCE_BUSY')) return false;
    throw error;
  } finally {
    await rm(file, { force: true });
    await pool.refresh({ timeoutMs }).catch(() => undefined);
  }
}
