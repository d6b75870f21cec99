/** Everything that stands on the serial ports of the machines, put together: who shares them, and the log of what they print. */
import path from 'node:path';
import type { Log } from '@rackless/daemon/log.js';
import { createConsoleHub, type ConsoleHub } from './console/console-hub.js';
import { openConsoleLogs, type ConsoleLogs } from './console/console-log.js';
import type { HypervisorDriver } from './drivers/driver.js';

export interface ConsoleServicesOptions {
  readonly driver: HypervisorDriver;
  /** EMULATOR_CONSOLE_LOG. */
  readonly isLogged: boolean;
  readonly stateDir: string;
  /** Two services that share a folder have logs of their own. */
  readonly serviceUuid: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

export interface ConsoleServices {
  /** Null: the hypervisor has no consoles. */
  readonly hub: ConsoleHub | null;
  /** Null: nothing is recorded. */
  readonly logs: ConsoleLogs | null;
  /** Begins to record; after the driver has been started. */
  start(): void;
  /** Gives the consoles back, and resolves when the logs are on the disk. */
  close(): Promise<void>;
}

/** Connects to nothing yet. */
export function openConsoleServices(options: ConsoleServicesOptions): ConsoleServices {
  const { driver, isLogged, stateDir, serviceUuid, log } = options;
  const { console: control } = driver;
  if (control === undefined) return { hub: null, logs: null, start: () => undefined, close: () => Promise.resolve() };
  const hub = createConsoleHub({
    driver: { onChange: (listener) => driver.onChange(listener), console: control },
    log,
  });
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
