/** Lists lab machines. */
import { attempt } from '../failure.js';
import { isOwn, readMachines, type LabHost } from './lab-host.js';

/** A machine in a list. */
interface ListedMachine {
  readonly name: string;
  readonly uuid: string;
  /** The name that `--count` has numbered; null for a single machine. */
  readonly group: string | null;
  /** `incomplete`: an interrupted command has left it. */
  readonly state: 'running' | 'off' | 'incomplete';
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly firmware: 'bios' | 'efi';
  readonly macAddresses: readonly string[];
}

/** Returns the machines that this command has created. @throws {DriverError} unavailable. */
export async function listMachines(host: LabHost): Promise<readonly ListedMachine[]> {
  const own = (await readMachines(host)).filter(isOwn);
  return await Promise.all(
    own.map(async ({ name, uuid, machine, created, domain }): Promise<ListedMachine> => {
      const { timeoutMs } = host;
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
    }),
  );
}
