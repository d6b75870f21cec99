/**
 * Derives UUIDs and MAC addresses from names, so that a machine that is deleted and created again has the
 * same ones. They also depend on the name of the host, because several hosts can have a machine
 * with the same name. Several hosts can have the same name too, for example copies of one installation. So a machine
 * gets other addresses if another host of the settings has a machine with its UUID.
 */
import { createHash } from 'node:crypto';
import { nameUuid } from '../../../name-uuid.js';
import { LabError } from './lab-error.js';
import type { KnownMachine } from './lab-host.js';
import { machineNames, type Naming } from './machine-spec.js';

/** Namespace of the UUIDs. */
const NAMESPACE = Buffer.from('8f6ba0d26c1e4c55a2e1c4b2a7d0f3e9', 'hex');

/** QEMU's prefix, locally administered. */
const QEMU_PREFIX = '52:54:00';

/** Returns the UUID of a machine. @param attempt greater than 0: another UUID for the same name. */
function derivedUuid(hostName: string, name: string, attempt = 0): string {
  return nameUuid(NAMESPACE, seed(hostName, name, attempt));
}

/** The place of an interface among all interfaces of a command. */
interface InterfacePlace {
  readonly hostName: string;
  readonly machine: string;
  /** Number of the machine within the command, from 0. */
  readonly machineIndex: number;
  readonly index: number;
  /** Number of the first candidate among the derived addresses. */
  readonly firstAttempt: number;
  /** The number of interfaces of each machine. */
  readonly interfaces: number;
}

/**
 * Returns the candidates for the address of an interface, best first. If the user gives an address
 * or a prefix, there is only one candidate.
 * @throws {RangeError} if the prefix has too few addresses.
 */
function* macCandidates(place: InterfacePlace, { macs, macPrefix }: Pick<Naming, 'macs' | 'macPrefix'>) {
  const given = macs?.[place.index];
  if (given !== undefined) {
    yield given;
    return;
  }
  if (macPrefix !== null) {
    yield numberedMac(macPrefix, place.machineIndex * place.interfaces + place.index + 1);
    return;
  }
  for (let attempt = place.firstAttempt; attempt < place.firstAttempt + 256; attempt += 1) {
    const digest = createHash('sha256')
      .update(seed(place.hostName, place.machine, place.index, attempt))
      .digest();
    yield `${QEMU_PREFIX}:${pairs(digest.toString('hex', 0, 3))}`;
  }
}

/** Returns the serial number of a disk: 16 hexadecimal digits. */
export function derivedSerial(uuid: string, index: number): string {
  return createHash('sha256')
    .update(seed(uuid, 'disk', index))
    .digest('hex')
    .slice(0, 16);
}

/** Returns the world wide name of a disk, in the form for locally assigned names (NAA 3). */
export function derivedWwn(uuid: string, index: number): string {
  return `3${derivedSerial(uuid, index).slice(1)}`;
}

/** Returns a prefix with a number in the other bytes. @throws {RangeError} if the number needs more bytes. */
function numberedMac(prefix: string, number: number): string {
  const bytes = 6 - prefix.split(':').length;
  if (number >= 256 ** bytes) throw new RangeError(`the MAC prefix ${prefix} has only ${256 ** bytes - 1} addresses`);
  return `${prefix}:${pairs(number.toString(16).padStart(2 * bytes, '0'))}`;
}

const pairs = (hex: string): string => (hex.match(/../g) ?? []).join(':');

const seed = (...parts: readonly (string | number)[]): string => parts.join('\n');

/** The addresses of one machine. */
export interface Addresses {
  readonly uuid: string;
  readonly macs: readonly string[];
}

/** The machines that get addresses. */
interface NewMachines {
  readonly names: readonly string[];
  /** The number of interfaces of each machine. */
  readonly interfaces: number;
  /** UUIDs of the machines of other hosts. Default: none are known. */
  readonly otherUuids?: ReadonlySet<string>;
}

/**
 * Chooses the addresses of new machines.
 * @param others the machines of the host that are not created again.
 * @throws {LabError} if a MAC address that the user has given, or that begins with the user's prefix, is in use. Also
 *   if all derived candidates of an interface are in use.
 * @throws {RangeError} if the user's prefix has too few addresses.
 */
export function chooseAddresses(
  naming: Naming,
  hostName: string,
  others: readonly KnownMachine[],
  { names, interfaces, otherUuids = new Set() }: NewMachines,
): ReadonlyMap<string, Addresses> {
  const indexes = new Map(machineNames(naming).map((name, index) => [name, index]));
  const uuids = new Set([...otherUuids, ...others.map(({ uuid }) => uuid)]);
  const owners = new Map(others.flatMap(({ name, domain }) => domain.devices.interfaces.map(({ mac }) => [mac, name])));
  const problems: string[] = [];
  const chooseMac = (machine: string, index: number, firstAttempt: number): string => {
    const machineIndex = indexes.get(machine) ?? 0;
    const place = { hostName, machine, machineIndex, index, firstAttempt, interfaces };
    let taken = '';
    for (const mac of macCandidates(place, naming)) {
      if (!owners.has(mac)) {
        owners.set(mac, machine);
        return mac;
      }
      taken = mac;
    }
    problems.push(`machine ${machine}: machine ${owners.get(taken) ?? ''} has the MAC address ${taken}`);
    return taken;
  };
  const chosen = names.map((name) => {
    let attempt = 0;
    while (uuids.has(derivedUuid(hostName, name, attempt))) attempt += 1;
    const uuid = derivedUuid(hostName, name, attempt);
    uuids.add(uuid);
    // A machine with the same UUID on another host has the same derived MAC addresses. So another UUID also
    // requires other MAC addresses.
    const macs = Array.from({ length: interfaces }, (_, index) => chooseMac(name, index, attempt));
    return [name, { uuid, macs }] as const;
  });
  if (problems.length > 0) throw new LabError(problems);
  return new Map(chosen);
}
