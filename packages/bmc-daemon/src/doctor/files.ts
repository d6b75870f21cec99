/** Examines the files and folders of the daemon: permissions and free space. */
import { constants } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '@rackless/daemon/error-code.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { defaultStateDir } from '../config/state-folder.js';
import { isOnThisHost } from '../drivers/libvirt/connection-uri.js';
import { asRoot, commandLine } from '../findings/commands.js';
import { freeSpace } from '../findings/disk-space.js';
import { sizeText } from '../findings/size-text.js';
import { problem, warning, type Finding } from '../findings/finding.js';
import { libvirtHosts } from './libvirt-hosts.js';
import { changeSetting, type Examined, type Probe } from './probe.js';

const MIB = 2 ** 20;
/** With less free space, the doctor warns. The state of the service with its console logs has up to 512 MiB. */
const LOW_BYTES = 512 * MIB;
const FULL_BYTES = 16 * MIB;
const FULL_FILES = 100;

/** Examines the permissions and the free space of EMULATOR_STATE_DIR. */
export const stateFolder: Probe = {
  subject: 'state',
  settings: ['stateDir'],
  examine: async (examined) => {
    const folder = stateFolderOf(examined);
    const place = await nearestFolder(folder);
    if (await isOfKernel(place)) return [kernelFolderFinding(folder, place, examined)];
    return [
      ...(await folderFindings(folder, examined)),
      ...(await spaceFindings(folder, 'The state folder', examined)),
    ];
  },
};

/** Examines the free space for UEFI variables and saved machines, if the daemon uses the libvirt of this host. */
export const libvirtFolder: Probe = {
  subject: 'disk',
  settings: ['libvirtUri', 'fakeDriver', 'osCloud'],
  examine: async (examined) => {
    const { fakeDriver, osCloud } = examined.loaded.settings;
    if (fakeDriver || osCloud !== null || !libvirtHosts(examined.loaded.settings).some(({ uri }) => isOnThisHost(uri)))
      return [];
    return await spaceFindings('/var/lib/libvirt', 'The folder of libvirt', examined);
  },
};

/**
 * Examines whether all accounts can read or change the password file and the key files, and whether
 * the daemon can replace the password file.
 */
export const secretFiles: Probe = {
  subject: 'password',
  settings: ['authFile', 'sslKey', 'notificationKeyFile'],
  examine: async (examined) => {
    const { authFile, sslKey, notificationKeyFile } = examined.loaded.settings;
    const findings = await Promise.all([
      ...(authFile === null ? [] : [secretFindings(authFile, 'password', 'the hashes of all passwords', examined)]),
      ...(authFile === null ? [] : [passwordFolderFindings(authFile, examined)]),
      ...[sslKey, notificationKeyFile].flatMap((file) =>
        file === null ? [] : [secretFindings(file, 'key', 'the private key', examined)],
      ),
    ]);
    return findings.flat();
  },
};

/** Returns the folder in which the daemon stores its state. */
export function stateFolderOf({ loaded: { settings }, environment, account }: Examined): string {
  return settings.stateDir ?? defaultStateDir(environment, account.uid);
}

/** Types of the file systems of Linux that show the state of the kernel: proc, sysfs and cgroup2. */
const KERNEL_FILE_SYSTEMS: readonly number[] = [0x9f_a0, 0x62_65_65_72, 0x63_67_72_70];

const isOfKernel = async (place: string): Promise<boolean> =>
  await statfs(place).then(
    ({ type }) => KERNEL_FILE_SYSTEMS.includes(type),
    () => false,
  );

/** Returns the finding for a folder on a file system that stores no files. */
function kernelFolderFinding(folder: string, place: string, examined: Examined): Finding {
  const { XDG_STATE_HOME, HOME } = examined.environment;
  const usual = defaultStateDir({ XDG_STATE_HOME, HOME }, examined.account.uid);
  const { command, advice } = changeSetting(examined, 'stateDir', usual);
  const message = `The state folder ${folder} cannot be created, because the file system of ${place} stores no files, so the daemon stores no accounts, subscriptions and logs.`;
  return problem('state', message + advice, command);
}

async function folderFindings(folder: string, { account }: Examined): Promise<readonly Finding[]> {
  const { uid, name } = account;
  const create = asRoot(commandLine('install', '-d', '-m', '700', '-o', name, folder), uid);
  try {
    await access(await nearestFolder(folder), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = fileReason(error);
    const message = `The account ${name} cannot write to the state folder ${folder} (${reason}), so the daemon stores no accounts, subscriptions and logs.`;
    return [problem('state', message, create)];
  }
  const found = await statOf(folder);
  if (found === null) return [];
  if (!found.isDirectory()) {
    const message = `${folder} is not a folder, so the daemon cannot store its state.`;
    return [problem('state', message, `mv ${commandLine(folder, `${folder}.old`)} && ${create}`)];
  }
  const findings: Finding[] = [];
  if ((found.mode & 0o077) !== 0) {
    const message = `Other accounts may read the state folder ${folder}, which has console logs and secrets of event listeners.`;
    findings.push(warning('state', message, asRoot(commandLine('chmod', '700', folder), uid)));
  }
  const foreign = await foreignFile(folder, uid);
  if (foreign !== null) {
    const message = `The account ${name} cannot read and write ${foreign}, so the daemon does not start or loses this state.`;
    findings.push(problem('state', message, asRoot(commandLine('chown', '-R', name, folder), uid)));
  }
  return findings;
}

/** Returns a file of the folder that this account may not read or write; null if there is none, or for root. */
async function foreignFile(folder: string, uid: number): Promise<string | null> {
  if (uid === 0) return null;
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    try {
      await access(file, constants.R_OK | constants.W_OK);
    } catch (error) {
      if (errorCode(error) === 'EACCES') return file;
    }
  }
  return null;
}

/** Returns the folder, or its nearest parent that exists. The daemon creates the folders in between. */
async function nearestFolder(folder: string): Promise<string> {
  let place = path.resolve(folder);
  while ((await statOf(place)) === null && place !== path.dirname(place)) place = path.dirname(place);
  return place;
}

async function spaceFindings(folder: string, title: string, { account }: Examined): Promise<readonly Finding[]> {
  const { bytes, files } = await freeSpace(folder);
  const list = asRoot(`du -xh ${commandLine(folder)} | sort -h | tail`, account.uid);
  const effect = 'so changes fail with 507';
  if (bytes < FULL_BYTES) return [problem('disk', `${title} ${folder} has ${sizeText(bytes)} free, ${effect}.`, list)];
  if (files !== null && files < FULL_FILES)
    return [problem('disk', `The file system of ${folder} can create only ${files} more files, ${effect}.`, list)];
  if (bytes >= LOW_BYTES) return [];
  return [warning('disk', `${title} ${folder} has only ${sizeText(bytes)} free, ${effect} when it is full.`, list)];
}

async function secretFindings(
  file: string,
  subject: string,
  content: string,
  { account }: Examined,
): Promise<readonly Finding[]> {
  const found = await statOf(file);
  // Examines only regular files: other programs need the permissions of a device such as /dev/null.
  if (found?.isFile() !== true || (found.mode & 0o007) === 0) return [];
  const chmod = asRoot(commandLine('chmod', 'o-rwx', file), account.uid);
  if ((found.mode & 0o002) !== 0)
    return [problem(subject, `Every account may change ${file}, and with it ${content}.`, chmod)];
  return [warning(subject, `Every account may read ${file}, and with it ${content}.`, chmod)];
}

/**
 * Examines whether the folder of the password file is writable. The daemon replaces the file when
 * clients change accounts.
 */
async function passwordFolderFindings(file: string, { account }: Examined): Promise<readonly Finding[]> {
  const folder = path.dirname(file);
  if ((await statOf(file)) === null) return [];
  try {
    await access(folder, constants.W_OK);
    return [];
  } catch (error) {
    const message = `The account ${account.name} cannot write to ${folder} (${fileReason(error)}), so clients cannot change passwords and accounts.`;
    return [warning('password', message, asRoot(commandLine('chown', account.name, folder), account.uid))];
  }
}

/** Returns null if the file cannot be examined: usually there is none, or this account may not see it. */
const statOf = (file: string) => stat(file).catch(() => null);
