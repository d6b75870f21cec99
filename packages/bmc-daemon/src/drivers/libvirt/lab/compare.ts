/** Compares a machine with the hardware that a user requests. */
import { basename } from 'node:path';
import { isLibvirtError } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import type { FirmwareCatalog } from '../firmware-catalog.js';
import { parseXml } from '../xml/parse.js';
import { secureBootState } from '../xml/os/secure-boot.js';
import { child } from '../xml/tree.js';
import type { LabHost, OwnMachine } from './lab-host.js';
import type { LabFirmware, MachineSpec } from './machine-spec.js';

/** A property that differs: its name, and both values as text. */
type Difference = readonly [property: string, current: string, wanted: string];

/**
 * Returns one text for each property that differs from the spec. Compares the current machine, which a
 * client may have changed over Redfish. Ignores the properties that the spec leaves open (null). Also ignores
 * the boot order, because every client changes it.
 * @param macs the wanted addresses; null: any.
 * @throws {DriverError} if libvirt fails.
 */
export async function differencesOf(
  host: LabHost,
  own: OwnMachine,
  spec: MachineSpec,
  macs: readonly string[] | null,
): Promise<readonly string[]> {
  const { domain, created, xml } = own;
  const { interfaces } = domain.devices;
  const catalog = await host.firmware.catalog();
  const disks = await diskBytes(host, own);
  const pools = [...new Set(created.volumes.map(({ pool }) => pool))].join(', ');
  const all: readonly Difference[] = [
    ['cpus', String(domain.processors.count), String(spec.cpus)],
    ['memory', exactSize(domain.memoryKiB * 1024), exactSize(spec.memoryMiB * 1024 ** 2)],
    ['disks', disks.map(exactSize).join(', '), spec.diskBytes.map(exactSize).join(', ')],
    ['disk bus', diskBuses(own), spec.diskBus],
    ['networks', interfaces.map(({ type, source }) => `${type} ${source ?? ''}`).join(', '), networkText(spec)],
    ['network cards', distinct(interfaces.map(({ model }) => model ?? '')), spec.nicModel],
    ['firmware', currentFirmware(own, catalog), spec.firmware],
    ['tpm', yesNo(child(parseXml(xml).root, 'devices', 'tpm') !== undefined), yesNo(spec.tpm)],
    ...(macs === null
      ? []
      : [['mac addresses', interfaces.map(({ mac }) => mac).join(', '), macs.join(', ')] as const]),
    ...(spec.pool === null ? [] : [['pool', pools, spec.pool] as const]),
    ...(spec.emulate === null ? [] : [['emulated', yesNo(domain.type === 'qemu'), yesNo(spec.emulate)] as const]),
    ...(spec.cpuModel === null ? [] : [['cpu model', domain.processors.model ?? 'none', spec.cpuModel] as const]),
  ];
  return all
    .filter(([, current, wanted]) => current !== wanted)
    .map(([property, current, wanted]) => `${property}: the machine has ${current || 'none'}; requested: ${wanted}`);
}

/**
 * Returns the sizes of the disks that the command has created; 0 for a disk whose volume or pool is missing.
 * @throws {DriverError} for any other failure of libvirt.
 */
async function diskBytes(
  { hypervisor, timeoutMs }: LabHost,
  { name, created }: OwnMachine,
): Promise<readonly number[]> {
  return await attempt(`reading the disks of machine ${name}`, () =>
    Promise.all(
      created.volumes.map(async ({ pool: poolName, volume }) => {
        try {
          const pool = await hypervisor.storagePoolLookupByName(poolName, { timeoutMs });
          return (await (await pool.storageVolLookupByName(volume, { timeoutMs })).getInfo({ timeoutMs }))
            .capacityBytes;
        } catch (error) {
          if (isLibvirtError(error, 'NO_STORAGE_POOL', 'NO_STORAGE_VOL')) return 0;
          throw error;
        }
      }),
    ),
  );
}

/** Returns the buses of the disks that the command has created. */
function diskBuses({ domain, created }: OwnMachine): string {
  const names = new Set(created.volumes.map(({ volume }) => volume));
  const own = domain.devices.disks.filter(({ source }) => names.has(source.volume ?? basename(source.name ?? '')));
  return distinct(own.map(({ bus }) => bus));
}

const distinct = (names: readonly string[]): string => [...new Set(names)].join(', ');

const networkText = ({ networks }: MachineSpec): string =>
  networks.map(({ type, name }) => `${type} ${name}`).join(', ');

function currentFirmware({ domain }: OwnMachine, catalog: FirmwareCatalog): LabFirmware {
  if (domain.firmware === 'bios') return 'bios';
  return secureBootState(domain.os, catalog).enabled === true ? 'secure-boot' : 'uefi';
}

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

/** Returns a size with the largest unit that divides it, such as `16 GiB`. */
function exactSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [bytes, 0];
  while (value !== 0 && value % 1024 === 0 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value} ${units[unit] ?? ''}`;
}
