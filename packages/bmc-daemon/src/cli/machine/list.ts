/** `bmc-daemon machine list`. */
import type { LoadedSettings } from '../../config/load.js';
import { listMachines } from '../../drivers/libvirt/lab/list.js';
import type { ListFlags } from './commands.js';
import { readLabHosts } from './session.js';

/**
 * Prints the machines of one host, or of all hosts.
 * If one of several hosts fails, prints the machines of the others.
 * @returns the exit code: 1 if a host failed or is unknown; 78 for a fault of the configuration.
 */
export async function list(loaded: LoadedSettings, { json = false, ...flags }: ListFlags): Promise<number> {
  const { readings, areSeveral, code } = await readLabHosts(loaded, flags, listMachines);
  if (readings.length === 0) return code;
  const machines = readings.flatMap(({ host, result }) => result.map((machine) => ({ ...machine, host })));
  if (json) {
    process.stdout.write(`${JSON.stringify({ machines }, null, 2)}\n`);
    return code;
  }
  const titles = ['NAME', 'STATE', 'CPUS', 'MEMORY', 'FIRMWARE', 'UUID', 'MAC ADDRESSES'];
  const rows = machines.map((machine) => [
    ...(areSeveral ? [machine.host] : []),
    machine.name,
    machine.state,
    String(machine.cpus),
    `${machine.memoryMiB} MiB`,
    machine.firmware === 'efi' ? 'UEFI' : 'BIOS',
    machine.uuid,
    machine.macAddresses.join(' '),
  ]);
  const where = areSeveral ? 'these hosts' : 'the host';
  if (rows.length === 0) process.stderr.write(`bmc-daemon: this command has created no machine on ${where}\n`);
  else process.stdout.write(aligned([areSeveral ? ['HOST', ...titles] : titles, ...rows]));
  return code;
}

/** Returns rows as lines with columns of equal width. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_title, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
