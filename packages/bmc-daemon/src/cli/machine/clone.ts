/** `bmc-daemon machine clone`. */
import type { LoadedSettings } from '../../config/load.js';
import { cloneMachines } from '../../drivers/libvirt/lab/clone.js';
import { machineNames, type Naming } from '../../drivers/libvirt/lab/machine-spec.js';
import type { CloneFlags } from './commands.js';
import { advise, ReportPrinter } from './output.js';
import { onHost } from './session.js';

/**
 * Copies a machine once, or as often as `--count` says.
 * @returns the exit code, see {@link ReportPrinter.finish} and {@link onHost}.
 */
export async function clone(loaded: LoadedSettings, source: string, name: string, flags: CloneFlags): Promise<number> {
  const { count = null, mac: macs = null, macPrefix = null, pool = null, json = false } = flags;
  const naming: Naming = { name, count, macs, macPrefix };
  const printer = new ReportPrinter({ json, names: machineNames(naming) });
  return await onHost(loaded, flags, async (host, signal) => {
    await cloneMachines(host, { naming, source, pool, signal, onReport: printer.add, onAdvice: advise });
    return printer.finish(signal);
  });
}
