/**
 * One console of each machine, for as many as want it: libvirt lets one at a time connect to a serial port, so whoever reads or
 * types here (SSH clients, the recorder of logs) shares one stream. It is opened when the first comes, again at each start of the
 * machine, and given back when the last one leaves.
 */
import type { Log } from '@rackless/daemon/log.js';
import type { ConsoleControl } from '../drivers/console-control.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { ConsoleLine } from './console-line.js';

/** `closed`: the machine is off, or its host does not answer; it opens by itself. `absent`: no machine, or no serial port. */
export type ConsoleState = 'open' | 'closed' | 'taken' | 'absent';

/** Neither method may throw. */
export interface ConsoleListener {
  /** What the guest says; the buffer is shared, and must not be changed. Nobody waits for a listener. */
  data(bytes: Buffer): void;
  /**
   * First of all, and whenever it changes; `open` each time that the console was opened, before its first byte. After `closed` and
   * `taken` the hub goes on trying.
   * @param why for people: `the machine is off`.
   */
  state(state: ConsoleState, why: string): void;
}

export interface ConsoleAttachment {
  /**
   * Types. What is typed while the console is not open is thrown away.
   * @param taken called when there is room for more: the guest's end takes no more than it reads.
   */
  write(bytes: Buffer, taken?: () => void): void;
  /** The listener hears nothing any more. Idempotent. */
  detach(): void;
}

export interface ConsoleHub {
  /** @param uuid canonical. Never throws: of a machine that is not there, the listener is told so. */
  attach(uuid: string, listener: ConsoleListener): ConsoleAttachment;
  /** @throws {DriverError} as `ConsoleControl.sendBreak`. */
  sendBreak(uuid: string): Promise<void>;
  /** Gives every console back; listeners are not told. */
  close(): void;
}

export interface ConsoleHubOptions {
  readonly driver: Pick<HypervisorDriver, 'onChange'> & {
    readonly console: Pick<ConsoleControl, 'open' | 'sendBreak'>;
  };
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /** Between two attempts at a console that somebody else has; grows to five times of it. Default: 1 s. */
  readonly retryMs?: number;
}

/** Begins to listen to the driver. */
export function createConsoleHub({ driver, log, retryMs = 1_000 }: ConsoleHubOptions): ConsoleHub {
  const lines = new Map<string, ConsoleLine>();
  const leave = driver.onChange(({ uuid, kind }) => lines.get(uuid)?.follow(kind));

  return {
    attach(uuid, listener) {
      let line = lines.get(uuid);
      if (line === undefined) {
        line = new ConsoleLine({
          open: (signal) => driver.console.open(uuid, { signal }),
          retryMs,
          warn: (error) => log.warn('connecting to the console of a machine failed', { machine: uuid, error }),
        });
        lines.set(uuid, line);
      }
      const joined = line;
      joined.join(listener);
      return {
        write: (bytes, taken) => joined.write(bytes, taken),
        detach() {
          if (!joined.leave(listener) || lines.get(uuid) !== joined) return;
          lines.delete(uuid);
          joined.close();
        },
      };
    },
    sendBreak: (uuid) => driver.console.sendBreak(uuid),
    close() {
      leave();
      for (const line of lines.values()) line.close();
      lines.clear();
    },
  };
}
