/** `bmc-daemon machine list`. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import type { LoadedSettings } from '../../config/load.js';
import { listMachines } from '../../drivers/libvirt/lab/list.js';
import type { ListFlags } from './commands.js';
import { onHost } from './session.js';

/** Prints the machines. @returns the exit code. */
export async function list(loaded: LoadedSettings, { json = false, ...flags }: ListFlags): Promise<number> {
  return await onHost(loaded, { ...flags, readonly: true }, async (host) => {
    const machines = await listMachines(host);
    if (json) {
      process.stdout.write(`${JSON.stringify({ machines }, null, 2)}\n`);
      return exitCode.done;
    }
    const titles = ['NAME', 'STATE', 'CPUS', 'MEMORY', 'FIRMWARE', 'UUID', 'MAC ADDRESSES'];
    const rows = machines.map((machine) => [
      machine.name,
      machine.state,
      String(machine.cpus),
      `${machine.memoryMiB} MiB`,
      machine.firmware === 'efi' ? 'UEFI' : 'BIOS',
      machine.uuid,
      machine.macAddresses.join(' '),
    ]);
    if (rows.length === 0) process.stderr.write('bmc-daemon: this command has created no machine on the host\n');
    else process.stdout.write(aligned([titles, ...rows]));
    return exitCode.done;
  });
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
