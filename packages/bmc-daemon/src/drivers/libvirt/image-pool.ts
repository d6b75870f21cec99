/**
 * The storage pool that images go into: the configured one, else a directory pool of our own. On this host its directory is
 * written to directly, once it is certain that libvirt means the same directory; everywhere else images go through a stream.
 */
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isLibvirtError, StoragePoolState, type Hypervisor, type StoragePool } from '@rackless/libvirt';
import { partVolumeName, imageVolumeName } from '../../media/image-key.js';
import { DriverError } from '../driver.js';
import { attempt } from './failure.js';
import { attribute, child, parseXml, textOf } from './xml/parse.js';

/** Name of the pool that is made where none is configured. */
const OWN_POOL = 'rackless-images';

/** Pools whose volumes are files in one directory. */
const DIRECTORY_POOLS: ReadonlySet<string> = new Set(['dir', 'fs', 'netfs']);

/** Which pool, on which host. */
export interface ImagePoolOptions {
  readonly hypervisor: Hypervisor;
  /** Connection URI, for the place of a session's own images. */
  readonly uri: string;
  /** EMULATOR_STORAGE_POOL; null for a pool of our own. */
  readonly name: string | null;
  /** Whether a pool of our own is made where there is none yet. */
  readonly create: boolean;
  readonly timeoutMs: number;
}

/** A pool that runs. */
export interface OpenPool {
  readonly pool: StoragePool;
  /** Its directory, where this process can write to it; null where images have to be streamed. */
  readonly directory: string | null;
}

/**
 * Finds, or makes, the pool and starts it.
 * @returns null where there is none and none is to be made.
 * @throws {DriverError} unsupported where the configured pool does not exist; unavailable.
 */
export async function openPool(options: ImagePoolOptions): Promise<OpenPool | null> {
  const { timeoutMs } = options;
  const name = options.name ?? OWN_POOL;
  return await attempt(`opening storage pool ${name}`, async () => {
    const pool = await lookUp(options, name);
    if (pool === null) return null;
    const { state } = await pool.getInfo({ timeoutMs });
    if (state === StoragePoolState.INACTIVE) await start(pool, { own: options.name === null, timeoutMs });
    const directory = await directoryOf(pool, timeoutMs);
    const reachable = directory !== null && (await isSameDirectory(pool, directory, timeoutMs));
    return { pool, directory: reachable ? directory : null };
  });
}

async function lookUp(options: ImagePoolOptions, name: string): Promise<StoragePool | null> {
  const { hypervisor, timeoutMs } = options;
  try {
    return await hypervisor.storagePoolLookupByName(name, { timeoutMs });
  } catch (error) {
    if (!isLibvirtError(error, 'NO_STORAGE_POOL')) throw error;
    if (options.name !== null) {
      throw new DriverError('unsupported', `opening storage pool ${name}: the host has no such pool`, { cause: error });
    }
    if (!options.create) return null;
    return await makeOwn(options);
  }
}

async function makeOwn({ hypervisor, uri, timeoutMs }: ImagePoolOptions): Promise<StoragePool> {
  const path = ownDirectory(uri);
  const xml = `<pool type='dir'><name>${OWN_POOL}</name><target><path>${path}</path></target></pool>`;
  try {
    return await hypervisor.storagePoolDefineXml(xml, 0, { timeoutMs });
  } catch (error) {
    // Another daemon on this host was quicker; if not, the first error says what is wrong.
    return await hypervisor.storagePoolLookupByName(OWN_POOL, { timeoutMs }).catch(() => {
      throw error;
    });
  }
}

async function start(pool: StoragePool, { own, timeoutMs }: { own: boolean; timeoutMs: number }): Promise<void> {
  if (own) {
    // The directory may be there already, and the test driver can not build at all; starting tells.
    await pool.build(0, { timeoutMs }).catch(() => undefined);
    await pool.setAutostart(true, { timeoutMs }).catch(() => undefined);
  }
  try {
    await pool.create(0, { timeoutMs });
  } catch (error) {
    // Somebody else was quicker.
    if (!isLibvirtError(error, 'OPERATION_INVALID')) throw error;
  }
}

/** Beside the user's own images, where the host's access rules (SELinux, AppArmor) let QEMU read. */
function ownDirectory(uri: string): string {
  if (!/^[^:]+:\/\/\/session\b/.test(uri)) return '/var/lib/libvirt/images/rackless';
  const { XDG_DATA_HOME: data } = process.env;
  return join(data === undefined || data === '' ? join(homedir(), '.local', 'share') : data, 'libvirt/images/rackless');
}

async function directoryOf(pool: StoragePool, timeoutMs: number): Promise<string | null> {
  const { root } = parseXml(await pool.getXmlDesc(0, { timeoutMs }));
  return DIRECTORY_POOLS.has(attribute(root, 'type') ?? '') ? textOf(child(root, 'target', 'path')) : null;
}

/**
 * Whether a file written here is a volume there: the same path may be another directory for a libvirtd in a container, in a
 * mount namespace or behind a forwarded socket.
 */
async function isSameDirectory(pool: StoragePool, directory: string, timeoutMs: number): Promise<boolean> {
  const unique = { etag: randomBytes(16).toString('hex'), lastModified: null, sizeBytes: null };
  // The name of half a download, so that what a crash leaves of it is swept up with those.
  const name = partVolumeName(imageVolumeName('probe', unique));
  const file = join(directory, name);
  try {
    await writeFile(file, 'rackless', { flag: 'wx' });
  } catch {
    // No such directory, or not ours to write to: the stream works for both.
    return false;
  }
  try {
    await pool.refresh({ timeoutMs });
    const volume = await pool.storageVolLookupByName(name, { timeoutMs });
    return (await volume.getPath({ timeoutMs })) === file;
  } catch (error) {
    if (isLibvirtError(error, 'NO_STORAGE_VOL', 'NO_SUPPORT')) return false;
    // Another refresh or an upload is going on in it.
    if (isLibvirtError(error, 'INTERNAL_ERROR', 'OPERATION_INVALID', 'RESOURCE_BUSY')) return false;
    throw error;
  } finally {
    await rm(file, { force: true });
    await pool.refresh({ timeoutMs }).catch(() => undefined);
  }
}
