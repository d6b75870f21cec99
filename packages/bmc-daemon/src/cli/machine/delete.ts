/** `bmc-daemon machine delete`. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import type { LoadedSettings } from '../../config/load.js';
import { deleteMachines as carryOut, planDeletion, type Deletion } from '../../drivers/libvirt/lab/delete.js';
import { LabError } from '../../drivers/libvirt/lab/lab-error.js';
import type { DeleteFlags } from './commands.js';
import { ReportPrinter } from './output.js';
import { onHost } from './session.js';

/**
 * Deletes machines. Without `--yes`, asks before data is lost.
 * @returns the exit code: 1 if the user does not confirm; otherwise that of {@link onHost}.
 */
export async function deleteMachines(
  loaded: LoadedSettings,
  names: readonly string[],
  { force = false, yes = false, json = false, ...flags }: DeleteFlags,
): Promise<number> {
  return await onHost(loaded, flags, async (host, signal) => {
    const deletion = await planDeletion(host, [...new Set(names)]);
    const running = deletion.machines.filter(({ isRunning }) => isRunning);
    if (running.length > 0 && !force) {
      throw new LabError(running.map(({ own }) => `machine ${own.name} is running: power it off, or use --force`));
    }
    if (!yes && !(await confirmDeletion(deletion))) return exitCode.failed;
    const all = [...deletion.absent, ...deletion.machines.map(({ own }) => own.name)];
    const printer = new ReportPrinter({ json, names: all });
    await carryOut(host, deletion, { signal, onReport: printer.add });
    return printer.finish(signal);
  });
}

/**
 * Asks before data is lost. A disk whose volume uses at most 1 MiB counts as empty.
 * @returns whether the user confirms, or there is no data.
 * @throws {LabError} if there is data, and no terminal.
 */
async function confirmDeletion({ machines }: Deletion): Promise<boolean> {
  const withData = machines.filter(({ dataBytes }) => dataBytes > 0);
  if (withData.length === 0) return true;
  const bytes = withData.reduce((sum, { dataBytes }) => sum + dataBytes, 0);
  const size = bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  const loss = `${size} of data on the disks of ${withData.map(({ own }) => own.name).join(', ')}`;
  if (!process.stdin.isTTY) throw new LabError([`this would delete ${loss}: use --yes`]);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D close the terminal, and then there is no answer.
  const closed = once(terminal, 'close').then(() => '');
  try {
    const answer = await Promise.race([terminal.question(`Delete ${loss}? [y/N] `), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
