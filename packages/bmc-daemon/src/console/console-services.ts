/**
 * Opens all services that use the machines' serial ports: the shared consoles and the console log.
 */
import path from 'node:path';
import type { Log } from '@rackless/daemon/log/log.js';
import { createConsoleHub, type ConsoleHub } from './console-hub.js';
import { openConsoleLogs, type ConsoleLogs } from './log/console-log.js';
import { fetchedConsoleLogs } from './log/fetched-console-logs.js';
import type { HypervisorDriver } from '../drivers/driver.js';

interface ConsoleRecorderOptions {
  readonly driver: HypervisorDriver;
  /** The value of EMULATOR_CONSOLE_LOG. */
  readonly isLogged: boolean;
  readonly stateDir: string;
  /** Distinguishes the logs of this service from those of another one that used the folder. */
  readonly serviceUuid: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

/** The consoles of all machines and their recordings. */
export interface ConsoleRecorder {
  /** Null if the hypervisor has no consoles. */
  readonly hub: ConsoleHub | null;
  /** Logs that the daemon records or the hypervisor stores. Null if the log is off, or no output can be recorded. */
  readonly logs: ConsoleLogs | null;
  /** Starts recording, unless the log is off or the hypervisor records. Call it after the driver has started. */
  start(): void;
  /** Releases the consoles, and resolves when the logs are written, or writing has failed. */
  close(): Promise<void>;
}

/** Opens the services without connecting to a console. */
export function openConsoleServices(options: ConsoleRecorderOptions): ConsoleRecorder {
  const { driver, isLogged, stateDir, serviceUuid, log } = options;
  const { console: control } = driver;
  const hub =
    control === undefined
      ? null
      : createConsoleHub({ driver: { onChange: (listener) => driver.onChange(listener), console: control }, log });
  // If the hypervisor records the output, the hub connects only while a client uses a console.
  if (hub === null || driver.logs !== undefined) {
    const logs = isLogged && driver.logs !== undefined ? fetchedConsoleLogs(driver.logs) : null;
    return { hub, logs, start: () => undefined, close: () => Promise.resolve(hub?.close()) };
  }
  const folder = path.join(stateDir, `consoles-${serviceUuid}`);
  const logs = isLogged ? openConsoleLogs({ driver, hub, folder, log }) : null;
  return {
    hub,
    logs,
    start: () => logs?.start(),
    close: async () => {
      await logs?.close();
      hub.close();
    },
  };
}
