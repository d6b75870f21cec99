/** Examines the storage pool for images and volumes. Changes nothing, not even the state of the pool. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isLibvirtError, StoragePoolState, type Hypervisor, type StoragePool } from '@rackless/libvirt';
import { freeSpace } from '../../../findings/disk-space.js';
import { sizeText } from '../../../findings/size-text.js';
import { problem, warning, type Finding } from '../../../findings/finding.js';
import { DEFAULT_POOL, defaultPoolDirectory } from '../media/open-pool.js';
import { parseXml } from '../xml/parse.js';
import { attribute, child, textOf } from '../xml/tree.js';
import type { HostCapabilities } from '../host-capabilities.js';
import type { ExaminedHost } from './examined-host.js';
import { lacksDriver } from './lacks-driver.js';
import { examinePoolAccess } from './pool-access.js';

const SUBJECT = 'pool';
const GIB = 2 ** 30;
/** Below this free space, the pool counts as full: the image of an installer is often larger than 1 GiB. */
const FULL_BYTES = GIB;
const LOW_BYTES = 10 * GIB;
/** Types of pools in which a client of libvirt cannot choose the names of new volumes. */
const FIXED_TYPES: ReadonlySet<string> = new Set(['disk', 'iscsi', 'iscsi-direct', 'mpath', 'scsi']);
const MEDIA_EFFECT = 'so inserts of images and new volumes fail';

/** Inputs of {@link examinePool}. */
interface PoolExamination {
  /** EMULATOR_STORAGE_POOL; null: the pool that the daemon creates when it needs it. */
  readonly configured: string | null;
  /** The capabilities of the host, which contain the account of QEMU. */
  readonly capabilities: Promise<HostCapabilities>;
}

/**
 * Examines the pool of EMULATOR_STORAGE_POOL, or the default pool.
 * @throws {LibvirtError} if libvirt does not answer, or answers with an unexpected error.
 */
export async function examinePool(
  hypervisor: Hypervisor,
  host: ExaminedHost,
  { configured, capabilities }: PoolExamination,
): Promise<readonly Finding[]> {
  const name = configured ?? DEFAULT_POOL;
  const { timeoutMs } = host;
  let pool: StoragePool;
  try {
    pool = await hypervisor.storagePoolLookupByName(name, { timeoutMs });
  } catch (error) {
    if (isLibvirtError(error, 'NO_STORAGE_POOL')) return await missingPool(host, configured);
    if (lacksDriver(error)) return [noStorageDriver(host)];
    throw error;
  }
  const [info, xml, autostart] = await Promise.all([
    pool.getInfo({ timeoutMs }),
    pool.getXmlDesc(0, { timeoutMs }),
    pool.getAutostart({ timeoutMs }),
  ]);
  const { root } = parseXml(xml);
  const type = attribute(root, 'type') ?? '';
  if (FIXED_TYPES.has(type)) {
    const message = `The storage pool ${name} has the type ${type}, which accepts no uploads, ${MEDIA_EFFECT}.`;
    return [problem(SUBJECT, message, createPool(host, `${name}-images`))];
  }
  const directory = textOf(child(root, 'target', 'path'));
  const isMissing = host.isLocal && directory?.startsWith('/') === true && !existsSync(directory);
  if (info.state === StoragePoolState.INACTIVE) {
    const folder = { missing: isMissing ? directory : null, isUnknown: !host.isLocal && type === 'dir' };
    return [inactivePool(host, name, folder)];
  }
  return [
    ...(info.state === StoragePoolState.RUNNING ? [] : [brokenPool(host, name)]),
    ...(isMissing ? [missingDirectory(host, name, directory)] : []),
    ...(autostart ? [] : [manualPool(host, name)]),
    ...(host.isLocal && directory !== null ? examinePoolAccess(directory, await capabilities, host) : []),
    ...spaceFindings(host, name, Math.min(info.availableBytes, await localSpace(host, directory))),
  ];
}

/**
 * Returns the findings about a pool that does not exist. A missing pool of the configuration is a problem.
 * The daemon creates the default pool itself, so only its free space is examined. Exception: for a session
 * libvirt of another host, the daemon cannot create it.
 */
async function missingPool(host: ExaminedHost, configured: string | null): Promise<readonly Finding[]> {
  if (configured !== null) {
    const message = `The storage pool ${configured} of EMULATOR_STORAGE_POOL does not exist, ${MEDIA_EFFECT}.`;
    return [problem(SUBJECT, message, createPool(host, configured))];
  }
  let directory: string;
  try {
    directory = defaultPoolDirectory(host.uri);
  } catch {
    const message = `EMULATOR_STORAGE_POOL is not set for the session libvirt of another host, ${MEDIA_EFFECT}.`;
    return [problem(SUBJECT, message, createPool(host, 'images'))];
  }
  return spaceFindings(host, DEFAULT_POOL, await localSpace(host, directory), directory);
}

function noStorageDriver(host: ExaminedHost): Finding {
  const message = `The storage driver of libvirt does not run, ${MEDIA_EFFECT}.`;
  return problem(SUBJECT, message, host.asRoot('systemctl enable --now virtstoraged.socket'));
}

/** The folder of a pool of directory type. */
interface PoolFolder {
  /** Path of a folder of this host that does not exist; null if it exists, or this is unknown. */
  readonly missing: string | null;
  /** True for a folder of another host, which may be missing. */
  readonly isUnknown: boolean;
}

function inactivePool(host: ExaminedHost, name: string, { missing, isUnknown }: PoolFolder): Finding {
  const start = [
    ['pool-start', name],
    ['pool-autostart', name],
  ];
  if (missing !== null) {
    const message = `The storage pool ${name} cannot start, because the folder ${missing} is missing, ${MEDIA_EFFECT}.`;
    return problem(SUBJECT, message, host.virshEach(['pool-build', name], ...start));
  }
  const message = `The storage pool ${name} is inactive, so machines with a disk of the pool cannot start.`;
  // If the folder exists, `pool-build` keeps its files.
  const build = isUnknown ? [['pool-build', name]] : [];
  return warning(SUBJECT, message, host.virshEach(...build, ...start));
}

function brokenPool(host: ExaminedHost, name: string): Finding {
  const message = `libvirt reports that the storage pool ${name} is degraded or not accessible, ${MEDIA_EFFECT}.`;
  return problem(SUBJECT, message, host.virshEach(['pool-destroy', name], ['pool-start', name]));
}

/** Returns the finding about an active pool without its folder. libvirt does not notice that the folder was removed. */
function missingDirectory(host: ExaminedHost, name: string, directory: string): Finding {
  const message =
    `The folder ${directory} of the storage pool ${name} is missing here, ` +
    'so inserts of images and new volumes fail unless libvirt runs in a container.';
  // libvirt builds only an inactive pool, so the first command stops the pool.
  const steps = ['pool-destroy', 'pool-build', 'pool-start'].map((command) => [command, name]);
  return warning(SUBJECT, message, host.virshEach(...steps));
}

function manualPool(host: ExaminedHost, name: string): Finding {
  const message =
    `The storage pool ${name} does not start with libvirt, ` +
    'so machines with a disk of the pool cannot start after a reboot of the host.';
  return warning(SUBJECT, message, host.virsh('pool-autostart', name));
}

/** @param directory the directory of a pool that does not exist yet; undefined for a pool that exists. */
function spaceFindings(host: ExaminedHost, name: string, bytes: number, directory?: string): readonly Finding[] {
  if (bytes >= LOW_BYTES) return [];
  const free = `The storage pool ${name} has ${sizeText(bytes)} free`;
  const list = host.virsh('vol-list', name, '--details');
  const fix = directory === undefined ? list : host.asRoot(`du -xh --max-depth=2 /var | sort -h | tail`);
  return bytes < FULL_BYTES
    ? [problem('disk', `${free}, ${MEDIA_EFFECT} with 507.`, fix)]
    : [warning('disk', `${free}, so inserts of some large images fail with 507.`, fix)];
}

/**
 * Returns the present free space, because libvirt reports the space at its last refresh. Infinity if unknown,
 * such as on another host.
 */
async function localSpace(host: ExaminedHost, directory: string | null): Promise<number> {
  if (!host.isLocal || directory === null) return Infinity;
  return await freeSpace(directory).then(
    ({ bytes }) => bytes,
    () => Infinity,
  );
}

/** Returns the command that creates a pool of directory type. */
function createPool(host: ExaminedHost, name: string): string {
  return host.virshEach(
    ['pool-define-as', name, 'dir', '--target', `${imageFolder(host)}/${name}`],
    ...['pool-build', 'pool-start', 'pool-autostart'].map((command) => [command, name]),
  );
}

/** Returns the folder of images, which libvirt needs as an absolute path. */
function imageFolder({ parsed, isLocal }: ExaminedHost): string {
  if (parsed.path !== '/session') return '/var/lib/libvirt/images';
  // The home of an account of another host is unknown.
  return `${isLocal ? homedir() : '/HOME'}/.local/share/libvirt/images`;
}
