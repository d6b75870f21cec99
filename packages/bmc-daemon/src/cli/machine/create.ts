/** `bmc-daemon machine create`. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import type { LoadedSettings } from '../../config/load.js';
import { createMachines } from '../../drivers/libvirt/lab/create.js';
import { machineNames, type MachineSpec, type Naming } from '../../drivers/libvirt/lab/machine-spec.js';
import type { CreateFlags } from './commands.js';
import { advise, ReportPrinter } from './output.js';
import { onHost } from './session.js';

const DEFAULT_DISK_BYTES = 20 * 1024 ** 3;
/** `sda` to `sdz`, without the letter of the CD drive. */
const MAX_DISKS = 25;

/** Creates machines. @returns the exit code: 64 for a fault of the flags; otherwise that of {@link onHost}. */
export async function create(loaded: LoadedSettings, name: string, flags: CreateFlags): Promise<number> {
  const spec = specOf(flags);
  const problem = problemOf(spec, flags);
  if (problem !== null) {
    process.stderr.write(`error: ${problem}\n`);
    return exitCode.usage;
  }
  const { count = null, mac: macs = null, macPrefix = null, json = false } = flags;
  const naming: Naming = { name, count, macs, macPrefix };
  const printer = new ReportPrinter({ json, names: machineNames(naming) });
  return await onHost(loaded, flags, async (host, signal) => {
    await createMachines(host, { naming, spec, signal, onReport: printer.add, onAdvice: advise });
    const { allowedInstances: shown } = loaded.settings;
    if (shown !== null && !machineNames(naming).every((each) => shown.includes(each))) {
      advise('EMULATOR_ALLOWED_INSTANCES names the machines that clients see: add the new ones');
    }
    return printer.finish(signal);
  });
}

function specOf(flags: CreateFlags): MachineSpec {
  const { network: networks = [], disk: diskBytes = [DEFAULT_DISK_BYTES] } = flags;
  return {
    cpus: flags.cpus,
    memoryMiB: Math.ceil(flags.memory / 1024 ** 2),
    diskBytes,
    diskBus: flags.diskBus,
    pool: flags.pool ?? null,
    networks: networks.length === 0 ? [{ type: 'network', name: 'default' }] : networks,
    nicModel: flags.nicModel,
    firmware: flags.bios === true ? 'bios' : flags.secureBoot === true ? 'secure-boot' : 'uefi',
    tpm: flags.tpm ?? false,
    bootOrder: flags.boot,
    emulate: flags.emulate ?? null,
    cpuModel: flags.cpuModel ?? null,
  };
}

/** Returns a fault: too many disks, or MAC addresses that are equal or too few or too many; null if there is none. */
function problemOf({ networks, diskBytes }: MachineSpec, { mac }: CreateFlags): string | null {
  if (diskBytes.length > MAX_DISKS) return `a machine has at most ${MAX_DISKS} disks`;
  if (mac === undefined) return null;
  if (new Set(mac).size < mac.length) return 'two interfaces have the same --mac';
  if (mac.length === networks.length) return null;
  return `--mac is given ${mac.length} times, and the number of interfaces is ${networks.length}`;
}
