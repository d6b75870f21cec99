/**
 * Shares each machine's console among all clients. libvirt allows one connection to a serial port,
 * so all readers and writers (SSH clients, the console log) share one stream. The first of them
 * opens the stream, each start of the machine opens it again, and the last one closes it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ConsoleControl } from '../drivers/console-control.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { ConsoleLine, type ConsoleListener } from './console-line.js';
import { silencePace, type SilencePace } from './console-silence.js';

/** The connection of one listener to a console. */
export interface ConsoleAttachment {
  /**
   * Writes input. Input is dropped while the console is not open.
   * @param onAccepted called when the guest's end accepts more input, or the console closes.
   */
  write(bytes: Buffer, onAccepted?: () => void): void;
  /** Removes the listener. Idempotent. */
  detach(): void;
}

/** Shares the console of each machine between several listeners. */
export interface ConsoleHub {
  /**
   * Attaches a listener. Never throws: a missing machine is reported to the listener.
   * @param uuid the canonical UUID.
   */
  attach(uuid: string, listener: ConsoleListener): ConsoleAttachment;
  /** @throws {DriverError} as `ConsoleControl.sendBreak`. */
  sendBreak(uuid: string): Promise<void>;
  /** Closes every console without notifying listeners. */
  close(): void;
}

interface ConsoleHubOptions {
  readonly driver: Pick<HypervisorDriver, 'onChange'> & {
    readonly console: Pick<ConsoleControl, 'open' | 'sendBreak'>;
  };
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /**
   * The pause between attempts to open a console that another program uses; grows to five times
   * this value. Default: 1 s.
   */
  readonly retryMs?: number;
  /** When silent consoles are checked. Default: {@link silencePace}. */
  readonly silence?: SilencePace;
}

/**
 * The pause between two checks of silent consoles. It limits their cost: thousands of idle consoles
 * cause at most four checks in a second.
 */
const CHECK_PAUSE_MS = 250;

/** Creates the hub, which listens to the driver. */
export function createConsoleHub(options: ConsoleHubOptions): ConsoleHub {
  const { driver, log, retryMs = 1_000, silence = silencePace } = options;
  const lines = new Map<string, ConsoleLine>();
  let lastCheck: Promise<void> = Promise.resolve();
  const inTurn = (check: () => Promise<void>): void => {
    lastCheck = lastCheck.then(check).then(() => sleep(CHECK_PAUSE_MS, undefined, { ref: false }));
  };
  const unsubscribe = driver.onChange(({ uuid, kind }) => lines.get(uuid)?.onMachineChange(kind));

  return {
    attach(uuid, listener) {
      let line = lines.get(uuid);
      if (line === undefined) {
        line = new ConsoleLine({
          open: (signal) => driver.console.open(uuid, { signal }),
          retryMs,
          warn: (error) => log.warn('connecting to the console of a machine failed', { machine: uuid, error }),
          silence,
          inTurn,
          onReplaced: () => log.info('libvirt lost the console of a machine: connected again', { machine: uuid }),
        });
        lines.set(uuid, line);
      }
      const joined = line;
      joined.join(listener);
      return {
        write: (bytes, onAccepted) => joined.write(bytes, onAccepted),
        detach() {
          if (!joined.leave(listener) || lines.get(uuid) !== joined) return;
          lines.delete(uuid);
          joined.close();
        },
      };
    },
    sendBreak: (uuid) => driver.console.sendBreak(uuid),
    close() {
      unsubscribe();
      for (const line of lines.values()) line.close();
      lines.clear();
    },
  };
}
