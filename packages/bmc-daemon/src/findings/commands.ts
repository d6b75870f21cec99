/** Commands that findings recommend. */
import { existsSync } from 'node:fs';
import { readTextFile } from '@rackless/daemon/files/text-file.js';
import { quoteWord } from '@rackless/daemon/text/shell-word.js';
import type { HostAccount } from '../host/account.js';

/** Returns a command line with quoted words. */
export const commandLine = (...words: readonly string[]): string => words.map(quoteWord).join(' ');

/**
 * Returns a command that needs root: with sudo, unless root itself will run it.
 * @param uid the user id of the account that will run it; null: an unknown account.
 */
export const asRoot = (command: string, uid: number | null): string => (uid === 0 ? command : `sudo ${command}`);

/**
 * Returns the command that copies a file to a name that does not exist. A second run of the command keeps the first
 * copy.
 */
export function copyCommand(file: string): string {
  let copy = `${file}.old`;
  for (let count = 2; existsSync(copy); count += 1) copy = `${file}.old.${count}`;
  return commandLine('cp', '-np', file, copy);
}

/**
 * Changes a command that needs the files of an account, such as its ssh keys. If the account has no login shell, as
 * for most services, sudo runs the command as this account. Otherwise, and for a command that already begins with
 * sudo, returns the command unchanged.
 */
export function asAccount(command: string, { name, shell }: HostAccount): string {
  if (!/\/(?:nologin|false)$/.test(shell ?? '') || command.startsWith('sudo ')) return command;
  // `~`, `$` and `&&` need a shell that runs as the account.
  return commandLine('sudo', '-u', name) + (/[~&$]/.test(command) ? ` sh -c ${quoteWord(command)}` : ` ${command}`);
}

/** Names of a package. Default: the name in Debian. */
export interface PackageNames {
  readonly debian: string;
  readonly fedora?: string;
  readonly suse?: string;
  readonly arch?: string;
}

/** A change of a configuration. */
export interface ConfigurationChange {
  /** The command that changes it, or that opens it in an editor. */
  readonly command: string;
  /** A space, and a sentence that says what to write in the editor; empty if the command makes the change. */
  readonly advice: string;
}

/**
 * Returns the command that opens a file at a line.
 * @param place begins with `file:line`, as the messages of a configuration.
 * @returns null if the place is not in a file.
 */
export function editCommand(place: string): string | null {
  const [, file, line] = /^(\S.*?):(\d+)(?::|$)/.exec(place) ?? [];
  return file === undefined || line === undefined ? null : `"\${EDITOR:-vi}" +${line} ${quoteWord(file)}`;
}

/** Options of {@link installCommand}. */
interface InstallOptions {
  /** Installs the files again, also if the package is installed. */
  readonly again?: boolean;
  /** Text of os-release(5). Default: that of this host. */
  readonly release?: string;
}

/** Returns the command that installs packages with the package manager of this host. */
export function installCommand(
  names: PackageNames,
  { again = false, release = osRelease() }: InstallOptions = {},
): string {
  const ids = [...release.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)/gm)].flatMap(([, list = '']) => list.split(' '));
  if (ids.some((id) => id === 'fedora' || id === 'rhel'))
    return `dnf ${again ? 'reinstall' : 'install'} ${names.fedora ?? names.debian}`;
  if (ids.some((id) => id.includes('suse')))
    return `zypper install ${again ? '--force ' : ''}${names.suse ?? names.debian}`;
  if (ids.includes('arch')) return `pacman -S ${names.arch ?? names.debian}`;
  return `apt-get install ${again ? '--reinstall ' : ''}${names.debian}`;
}

/** The package managers that {@link installCommand} knows, each with an os-release(5) that selects it. */
const managers = [
  ['apt-get', 'ID=debian'],
  ['dnf', 'ID=fedora'],
  ['zypper', 'ID=suse'],
  ['pacman', 'ID=arch'],
] as const;

/**
 * Returns the command that installs packages on another host, whose package manager is unknown.
 * @param uid as that of {@link asRoot}.
 */
export function remoteInstallCommand(names: PackageNames, uid: number | null, { again = false } = {}): string {
  const branches = managers.map(([program, release], index) => {
    const condition = index === 0 ? `if command -v ${program}; then` : `elif command -v ${program}; then`;
    const isLast = index === managers.length - 1;
    return `${isLast ? 'else' : condition} ${asRoot(installCommand(names, { again, release }), uid)}`;
  });
  return `${branches.join('; ')}; fi`;
}

function osRelease(): string {
  try {
    return readTextFile('/etc/os-release');
  } catch {
    // A host without os-release(5) gets the commands of Debian.
    return '';
  }
}
