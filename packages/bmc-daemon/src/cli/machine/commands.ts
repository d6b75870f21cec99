/** Defines `bmc-daemon machine`. The code of a command is loaded only when it runs. */
import { Option, type Command } from 'commander';
import type { LoadedSettings } from '../../config/load.js';
import { BOOT_DEVICES, DISK_BUSES, NIC_MODELS, type NetworkLink } from '../../drivers/libvirt/lab/machine-spec.js';
import {
  parseBridge,
  parseCount,
  parseMac,
  parseMacPrefix,
  parseName,
  parseSize,
  parseSteps,
  parseText,
} from './arguments.js';

/** Flags of all commands. */
interface HostFlags {
  readonly config?: string;
  readonly libvirtUri?: string;
  readonly host?: string;
  readonly json?: boolean;
}

interface NamingFlags {
  readonly count?: number;
  readonly mac?: readonly string[];
  readonly macPrefix?: string;
}

/** Flags of `create`. A flag that was not given has its default, or is absent. */
export interface CreateFlags extends HostFlags, NamingFlags {
  readonly cpus: number;
  /** Memory of each machine in bytes. */
  readonly memory: number;
  /** Size of each disk in bytes. */
  readonly disk?: readonly number[];
  readonly diskBus: (typeof DISK_BUSES)[number];
  readonly pool?: string;
  /** Networks and bridges, in the order in which `--network` and `--bridge` were given. */
  readonly network?: readonly NetworkLink[];
  readonly nicModel: (typeof NIC_MODELS)[number];
  readonly uefi?: boolean;
  readonly bios?: boolean;
  readonly secureBoot?: boolean;
  readonly tpm?: boolean;
  readonly boot: readonly (typeof BOOT_DEVICES)[number][];
  readonly emulate?: boolean;
  readonly cpuModel?: string;
}

/** Flags of `clone`. */
export interface CloneFlags extends HostFlags, NamingFlags {
  readonly pool?: string;
}

/** Flags of `delete`. */
export interface DeleteFlags extends HostFlags {
  readonly force?: boolean;
  readonly yes?: boolean;
}

/** Flags of `list`. */
export type ListFlags = HostFlags;

/** The functions of the program that the commands call. */
interface MachineProgram {
  /** Loads the settings with flags of the command and of the program. */
  readonly load: (given: HostFlags) => LoadedSettings;
  /** Receives the exit code. */
  readonly exit: (code: number) => void;
}

/** Adds the command `machine` to the program. */
export function addMachineCommands(program: Command, { load, exit }: MachineProgram): void {
  const machine = program.command('machine').description('create, copy, list and delete virtual machines for a lab');
  addCreate(machine, { load, exit });
  const clone = machine
    .command('clone')
    .description('copy a machine that is off: its definition and its disks, with new addresses')
    .argument('<source>', 'machine to copy; any machine of the host', parseText)
    .argument('<name>', 'name of the copy', parseName)
    .addOption(countOption())
    .option('--pool <name>', 'storage pool of the copied disks (default: the pool of each disk)', parseText)
    .addOption(macOption())
    .addOption(macPrefixOption());
  withHost(clone).action(async (source: string, name: string, flags: CloneFlags) => {
    const command = await import('./clone.js');
    exit(await command.clone(load(flags), source, name, flags));
  });
  const list = machine.command('list').description('list the machines that this command has created');
  withHost(list).action(async (flags: ListFlags) => {
    const command = await import('./list.js');
    exit(await command.list(load(flags), flags));
  });
  const remove = machine
    .command('delete')
    .description('delete machines that this command has created, with their disks')
    .argument('<name...>', 'name of a machine, or of all machines that --count has numbered', texts)
    .option('--force', 'power off running machines')
    .option('-y, --yes', 'delete data without a question');
  withHost(remove).action(async (names: readonly string[], flags: DeleteFlags) => {
    const command = await import('./delete.js');
    exit(await command.deleteMachines(load(flags), names, flags));
  });
}

function addCreate(machine: Command, { load, exit }: MachineProgram): void {
  // `--network` and `--bridge` fill one list, because their common order is that of the machine's interfaces.
  const links: NetworkLink[] = [];
  const add = (type: NetworkLink['type'], parse: (text: string) => string) => (text: string) => {
    links.push({ type, name: parse(text) });
    return links;
  };
  const create = machine
    .command('create')
    .description('create machines that boot from the network, then from disk; run again to add the missing ones')
    .argument('<name>', 'name of the machine; with --count, the first part of the names', parseName)
    .addOption(countOption())
    .option('--cpus <number>', 'number of CPU cores', parseCount, 2)
    .addOption(
      new Option('--memory <size>', 'memory, for example 16G').argParser(parseSize).default(4 * 1024 ** 3, '4G'),
    )
    .option('--disk <size>', 'size of a disk, for example 40G; once for each disk (default: 20G)', sizes)
    .addOption(new Option('--disk-bus <bus>', 'bus of the disks').choices(DISK_BUSES).default('scsi'))
    .option('--pool <name>', 'storage pool of the disks (default: "default", or the pool of the daemon)', parseText)
    .option(
      '--network <name>',
      'network of libvirt; once for each interface (default: default)',
      add('network', parseText),
    )
    .option('--bridge <name>', 'bridge of the host; once for each interface', add('bridge', parseBridge))
    .addOption(new Option('--nic-model <model>', 'model of the network cards').choices(NIC_MODELS).default('virtio'))
    .addOption(macOption())
    .addOption(macPrefixOption())
    .addOption(new Option('--uefi', 'UEFI firmware without Secure Boot (default)').conflicts(['bios', 'secureBoot']))
    .addOption(new Option('--secure-boot', "UEFI firmware with Secure Boot and the vendor's keys").conflicts('bios'))
    .option('--bios', 'BIOS')
    .option('--tpm', 'add an emulated TPM 2.0')
    .addOption(bootOption())
    .option('--emulate', 'emulate the CPU, without KVM (default: if guests do not run with KVM)')
    .option('--no-emulate', 'use KVM without a test')
    .option('--cpu-model <model>', "CPU in libvirt's name (default: the CPU of the host)", parseText);
  withHost(create).action(async (name: string, flags: CreateFlags) => {
    const command = await import('./create.js');
    exit(await command.create(load(flags), name, { ...flags, network: links }));
  });
}

const sizes = (text: string, earlier: readonly number[] = []): readonly number[] => [...earlier, parseSize(text)];

const texts = (text: string, earlier: readonly string[] = []): readonly string[] => [...earlier, parseText(text)];

const countOption = (): Option =>
  new Option('--count <number>', 'number of machines, which are named NAME-1, NAME-2, …').argParser(parseCount);

const macOption = (): Option =>
  new Option('--mac <address>', 'MAC address, once for each interface (default: derived from the name)')
    .argParser((text, earlier: readonly string[] | undefined) => [...(earlier ?? []), parseMac(text)])
    .conflicts(['count', 'macPrefix']);

const macPrefixOption = (): Option =>
  new Option(
    '--mac-prefix <bytes>',
    'first bytes of the MAC addresses, for example 52:54:00:aa; the others count up',
  ).argParser(parseMacPrefix);

const bootOption = (): Option =>
  new Option('--boot <order>', `boot order, of ${BOOT_DEVICES.join(', ')}`)
    .argParser((text) => parseSteps(text))
    .default(['network', 'disk'], 'network,disk');

/** Adds the flags of all commands. */
function withHost(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file of the daemon (environment variable: EMULATOR_CONFIG)')
    .option('--libvirt-uri <uri>', 'connection URI of the libvirt host')
    .option('--host <name>', 'one of several hosts of the configuration (default of list: all)', parseText)
    .option('--json', 'print JSON');
}
