/** Parses the values of options. A wrong value is an error of the command line. */
import { InvalidArgumentError } from 'commander';
import { BOOT_DEVICES, type LabBootDevice } from '../../drivers/libvirt/lab/machine-spec.js';

const UNITS: Readonly<Record<string, number>> = { M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/** libvirt reads numbers of bytes with 63 bits, but JavaScript has exact integers of 53 bits only. */
const MAX_BYTES = 2 ** 53 - 1;

/**
 * Parses a size such as `512M`, `16G`, `16GiB` or `1.5T`.
 * @returns bytes, rounded up to whole KiB.
 * @throws {InvalidArgumentError}
 */
export function parseSize(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([MGT])(?:iB)?$/i.exec(text) ?? [];
  const bytes = Number(number) * (UNITS[unit?.toUpperCase() ?? ''] ?? Number.NaN);
  if (Number.isNaN(bytes)) throw new InvalidArgumentError('Use a number and a unit, for example 512M, 16G or 2T.');
  if (bytes < 1024 ** 2 || bytes > MAX_BYTES) throw new InvalidArgumentError('Use a size from 1M to 8191T.');
  // Rounds up to whole KiB, in which libvirt counts memory.
  return Math.ceil(bytes / 1024) * 1024;
}

/** Parses a number from 1 to 10,000. @throws {InvalidArgumentError} */
export function parseCount(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 10_000)
    throw new InvalidArgumentError('Use a number from 1 to 10000.');
  return number;
}

/** Parses the name of a machine, which is a part of file names and URIs. @throws {InvalidArgumentError} */
export function parseName(text: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,59}$/i.test(text)) return text;
  throw new InvalidArgumentError(
    'Use up to 60 letters, digits, periods, hyphens and underscores. Begin with a letter or a digit.',
  );
}

/** Parses a name that libvirt or the configuration knows. @throws {InvalidArgumentError} if it is empty. */
export function parseText(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It is empty.');
}

/**
 * Parses the name of a bridge: one that the kernel accepts, without special characters of XML.
 * @throws {InvalidArgumentError}
 */
export function parseBridge(text: string): string {
  if (/^[^\s/:'"<>&]{1,15}$/.test(text) && text !== '.' && text !== '..') return text;
  throw new InvalidArgumentError('Use the name of an interface, which has up to 15 characters.');
}

/** Parses a MAC address of one network card. @returns lower case, with colons. @throws {InvalidArgumentError} */
export function parseMac(text: string): string {
  const mac = text.toLowerCase().replaceAll('-', ':');
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac))
    throw new InvalidArgumentError('Use six bytes, for example 52:54:00:12:34:56.');
  if (mac === '00:00:00:00:00:00') throw new InvalidArgumentError('No network card has this address.');
  return parseUnicast(mac);
}

/** Parses the first one to five bytes of MAC addresses. @throws {InvalidArgumentError} */
export function parseMacPrefix(text: string): string {
  const prefix = text.toLowerCase().replaceAll('-', ':').replace(/:$/, '');
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){0,4}$/.test(prefix))
    throw new InvalidArgumentError('Use one to five bytes, for example 52:54:00:aa.');
  return parseUnicast(prefix);
}

/** Parses a boot order, `network,disk`. @throws {InvalidArgumentError} */
export function parseSteps(text: string): readonly LabBootDevice[] {
  const devices = text.split(',').flatMap((name) => BOOT_DEVICES.find((device) => device === name.trim()) ?? []);
  if (devices.length === text.split(',').length && new Set(devices).size === devices.length) return devices;
  throw new InvalidArgumentError(`Use each of ${BOOT_DEVICES.join(', ')} at most once, separated by commas.`);
}

function parseUnicast(mac: string): string {
  if ((Number.parseInt(mac.slice(0, 2), 16) & 1) === 0) return mac;
  throw new InvalidArgumentError('The first byte must be even: odd ones are multicast addresses.');
}
