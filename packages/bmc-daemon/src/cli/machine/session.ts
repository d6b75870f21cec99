/** Runs a command on one or all libvirt hosts of the settings, and prints its errors. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { libvirtUriFaults } from '../../config/inspect.js';
import type { LoadedSettings } from '../../config/load.js';
import { DriverError } from '../../drivers/driver-error.js';
import { connectionRefusal } from '../../drivers/libvirt/connection-fault.js';
import { lockHost } from '../../drivers/libvirt/lab/host-lock.js';
import { LabError } from '../../drivers/libvirt/lab/lab-error.js';
import { openLabHost, type LabHost, type LabSettings } from '../../drivers/libvirt/lab/lab-host.js';
import { labHosts, labSettings } from '../../hypervisors/lab.js';

/** The host of a command. */
interface HostChoice {
  /**
   * One of several hosts of the settings. If it is undefined, {@link onHost} uses the only host, and
   * {@link readLabHosts} uses all hosts.
   */
  readonly host?: string;
}

/** The result of {@link readLabHosts}. */
interface HostReadings<Result> {
  /** The hosts that answered, in the order of the settings. */
  readonly readings: readonly { readonly host: string; readonly result: Result }[];
  /** Whether the command reads several hosts. */
  readonly areSeveral: boolean;
  /** 0 if all hosts answered; 1 if a host failed or is unknown; 78 for a fault of the configuration. */
  readonly code: number;
}

/**
 * Reads one host, or all hosts of the settings at the same time. Prints why a host failed.
 * @param host one of several hosts; undefined: all.
 * @throws an unexpected error.
 */
export async function readLabHosts<Result>(
  loaded: LoadedSettings,
  { host: hostName }: HostChoice,
  read: (host: LabHost) => Promise<Result>,
): Promise<HostReadings<Result>> {
  const none = { readings: [], areSeveral: false };
  if (printFaults(loaded)) return { ...none, code: exitCode.configuration };
  let hosts: ReturnType<typeof labHosts>;
  try {
    hosts = labHosts(loaded.settings, hostName ?? null);
  } catch (error) {
    report(error);
    return { ...none, code: exitCode.failed };
  }
  const areSeveral = hosts.length > 1;
  const readOne = async (settings: LabSettings): Promise<Result> => {
    const host = await openLabHost(settings);
    try {
      return await read(host);
    } finally {
      await host.hypervisor.close();
    }
  };
  const outcomes = await Promise.allSettled(hosts.map(({ settings }) => readOne(settings)));
  const readings = hosts.flatMap(({ name, settings: { uri } }, index) => {
    const outcome = outcomes[index];
    if (outcome?.status === 'fulfilled') return [{ host: name, result: outcome.value }];
    report(outcome?.reason, { uri, ...(areSeveral ? { host: name } : {}) });
    return [];
  });
  return { readings, areSeveral, code: readings.length < hosts.length ? exitCode.failed : exitCode.done };
}

/**
 * Connects, locks the host, runs the command and disconnects.
 * @param command its signal is aborted by the first Ctrl-C or SIGTERM, which ends the command after the
 *   current machine.
 * @returns the exit code of the command; 1 for an expected error, 78 for a fault of the configuration.
 * @throws an unexpected error.
 */
export async function onHost(
  loaded: LoadedSettings,
  { host: hostName }: HostChoice,
  command: (host: LabHost, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  if (printFaults(loaded)) return exitCode.configuration;
  const interrupt = new AbortController();
  const stop = (): void => {
    interrupt.abort();
    process.stderr.write('bmc-daemon: ending after the current machine; a second Ctrl-C ends at once\n');
  };
  // Each listener runs once, and Node.js then removes it. So the same signal ends the process the second time.
  process.once('SIGINT', stop).once('SIGTERM', stop);
  let uri: string | undefined;
  try {
    const settings = labSettings(loaded.settings, hostName ?? null);
    uri = settings.uri;
    const { signal } = interrupt;
    const host = await openLabHost(settings, signal);
    try {
      const onWait = () => process.stderr.write('bmc-daemon: waiting for another command to end\n');
      await lockHost(host, { onWait, signal });
      return await command(host, signal);
    } finally {
      await host.hypervisor.close();
    }
  } catch (error) {
    report(error, uri === undefined ? {} : { uri });
    return exitCode.failed;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** Prints the faults of the configuration, and returns whether there are any. */
function printFaults(loaded: LoadedSettings): boolean {
  // A setting with a fault has its default value, so the URI is checked only if no setting has a fault.
  const faults = loaded.faults.length > 0 ? loaded.faults : libvirtUriFaults(loaded);
  if (faults.length > 0) printStartReport({ faults, warnings: loaded.warnings });
  return faults.length > 0;
}

/**
 * Prints an expected error, and the advice for it.
 * @param options.host the name of the host, if the command reads several hosts.
 * @throws an unexpected error.
 */
function report(error: unknown, { uri, host }: { readonly uri?: string; readonly host?: string } = {}): void {
  const prefix = host === undefined ? '' : `host ${host}: `;
  const hint = uri === undefined ? null : connectionRefusal(error, uri);
  for (const line of [...problemsOf(error), ...(hint === null ? [] : [hint])]) {
    process.stderr.write(`bmc-daemon: ${prefix}${line}\n`);
  }
}

/** Returns the lines of an expected error. @throws an unexpected one. */
function problemsOf(error: unknown): readonly string[] {
  if (error instanceof LabError) return error.problems;
  // Ctrl-C or SIGTERM has ended a wait. `stop` has already printed the reason.
  if (error instanceof Error && error.name === 'AbortError') return [];
  if (error instanceof DriverError || error instanceof RangeError) return [error.message];
  throw error;
}
