/** Runs a command on the libvirt host of the settings, and prints its errors. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { libvirtUriFaults } from '../../config/inspect.js';
import type { LoadedSettings } from '../../config/load.js';
import { DriverError } from '../../drivers/driver-error.js';
import { connectionRefusal } from '../../drivers/libvirt/connection-fault.js';
import { lockHost } from '../../drivers/libvirt/lab/host-lock.js';
import { LabError } from '../../drivers/libvirt/lab/lab-error.js';
import { openLabHost, type LabHost } from '../../drivers/libvirt/lab/lab-host.js';
import { labSettings } from '../../hypervisors/lab.js';

/** The host of a command. */
interface HostChoice {
  /** One of several hosts of the settings; undefined: the only host. */
  readonly host?: string;
  /** Whether the command only reads. */
  readonly readonly?: boolean;
}

/**
 * Connects, runs the command and disconnects.
 * @param command its signal is aborted by the first Ctrl-C, which ends the command after the
 *   current machine.
 * @returns the exit code of the command; 1 for an error, 78 for a fault of the configuration.
 */
export async function onHost(
  loaded: LoadedSettings,
  { host: hostName, readonly = false }: HostChoice,
  command: (host: LabHost, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  // The URI of a setting with a fault is unknown.
  const faults = loaded.faults.length > 0 ? loaded.faults : libvirtUriFaults(loaded);
  if (faults.length > 0) {
    printStartReport({ faults, warnings: loaded.warnings });
    return exitCode.configuration;
  }
  const interrupt = new AbortController();
  const stop = (): void => {
    interrupt.abort();
    process.stderr.write('bmc-daemon: ending after the current machine; a second Ctrl-C ends at once\n');
  };
  // Without a listener, the second signal ends the process.
  process.once('SIGINT', stop).once('SIGTERM', stop);
  let uri: string | undefined;
  try {
    const settings = labSettings(loaded.settings, hostName ?? null);
    uri = settings.uri;
    const host = await openLabHost(settings);
    try {
      const { signal } = interrupt;
      const onWait = () => process.stderr.write('bmc-daemon: waiting for another command to end\n');
      if (!readonly) await lockHost(host, { onWait, signal });
      return await command(host, signal);
    } finally {
      await host.hypervisor.close();
    }
  } catch (error) {
    for (const line of problemsOf(error)) process.stderr.write(`bmc-daemon: ${line}\n`);
    const hint = uri === undefined ? null : connectionRefusal(error, uri);
    if (hint !== null) process.stderr.write(`bmc-daemon: ${hint}\n`);
    return exitCode.failed;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** Returns the lines of an expected error. @throws an unexpected one. */
function problemsOf(error: unknown): readonly string[] {
  if (error instanceof LabError) return error.problems;
  // Ctrl-C, which is already reported.
  if (error instanceof Error && error.name === 'AbortError') return [];
  if (error instanceof DriverError || error instanceof RangeError) return [error.message];
  throw error;
}
