/** Lists lab machines: the machines that `bmc-daemon machine` has created. */
import { isDriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import { isOwn, readMachines, type LabHost, type OwnMachine } from './lab-host.js';

/** A machine in a list. */
interface ListedMachine {
  readonly name: string;
  readonly uuid: string;
  /** With `--count`: the name without the number, `node` of `node-2`. Otherwise null. */
  readonly group: string | null;
  /** `incomplete`: an interrupted command has left it. */
  readonly state: 'running' | 'off' | 'incomplete';
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly firmware: 'bios' | 'efi';
  readonly macAddresses: readonly string[];
}

/** Dependencies of {@link listMachines}. */
type ListHost = Pick<LabHost, 'hypervisor' | 'timeoutMs'>;

/** Returns the machines that `bmc-daemon machine` has created. @throws {DriverError} if libvirt fails. */
export async function listMachines(host: ListHost): Promise<readonly ListedMachine[]> {
  const own = (await readMachines(host)).filter(isOwn);
  const listed = await Promise.all(own.map((machine) => listedMachine(machine, host.timeoutMs)));
  return listed.filter((machine) => machine !== null);
}

/**
 * Reads the state of a machine. Returns null if another client has deleted it meanwhile.
 * @throws {DriverError} for any other failure of libvirt.
 */
async function listedMachine(known: OwnMachine, timeoutMs: number): Promise<ListedMachine | null> {
  const { name, uuid, machine, created, domain } = known;
  try {
    const isRunning = await attempt(`reading the state of machine ${name}`, () =>
      machine.domain.isActive({ timeoutMs }),
    );
    return {
      name,
      uuid,
      group: created.group,
      state: created.complete ? (isRunning ? 'running' : 'off') : 'incomplete',
      cpus: domain.processors.count,
      memoryMiB: Math.round(domain.memoryKiB / 1024),
      firmware: domain.firmware,
      macAddresses: domain.devices.interfaces.map(({ mac }) => mac),
    };
  } catch (error) {
    if (isDriverError(error, 'notFound')) return null;
    throw error;
  }
}
