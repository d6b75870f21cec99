/**
 * Shares each machine's console among all clients. Most hypervisors allow one connection to a serial port, so
 * all readers and writers (SSH clients, WebSockets, the console log) share one stream. The hub opens the stream
 * for the first client, and again after each start of the machine and each loss of the stream. It closes the
 * stream when the last client leaves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ConsoleControl } from '../drivers/console-control.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import {
  isTerminalReport,
  Keyboard,
  keyboardTimes,
  type KeyboardClient,
  type KeyboardTimes,
} from './console-keyboard.js';
import { ConsoleLine, type ConsoleListener } from './console-line.js';
import { silencePace, uncheckedPace, type SilencePace } from './console-silence.js';

/** The connection of one listener to a console. */
interface ConsoleAttachment {
  /** Removes the listener. Idempotent. */
  detach(): void;
}

/** The connection of a client that can type. */
export interface ConsoleSeat extends ConsoleAttachment {
  /** Asks for the keyboard. See {@link Keyboard.take}. */
  takeKeyboard(): void;
  /** Hands over the keyboard. See {@link Keyboard.release}. */
  releaseKeyboard(): void;
  /**
   * Writes input, and takes the keyboard if it is free. Drops input while the console is not open.
   * Also drops automatic reports of a terminal, such as its cursor position, if the client does not
   * have the keyboard.
   * @param onAccepted called when the serial port accepts more input, or the console closes; at once
   *   for dropped input.
   * @returns false if another client has the keyboard: nothing was written, and `onAccepted` is not
   *   called.
   */
  write(bytes: Buffer, onAccepted?: () => void): boolean;
  /**
   * Sends a break, and takes the keyboard if it is free.
   * @returns false if another client has the keyboard.
   * @throws {DriverError} as `ConsoleControl.sendBreak`.
   */
  sendBreak(): Promise<boolean>;
}

/** Shares the console of each machine between several listeners. */
export interface ConsoleHub {
  /**
   * Attaches a listener. Never throws: a missing machine is reported to the listener.
   * @param uuid the canonical UUID.
   */
  attach(uuid: string, listener: ConsoleListener): ConsoleAttachment;
  /** Attaches a client that can type. Never throws. */
  seat(uuid: string, client: ConsoleListener & KeyboardClient): ConsoleSeat;
  /** Closes every console without notifying listeners. */
  close(): void;
}

interface ConsoleHubOptions {
  readonly driver: Pick<HypervisorDriver, 'onChange'> & {
    readonly console: Pick<ConsoleControl, 'open' | 'sendBreak' | 'acceptsSecondClient'>;
  };
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /**
   * The pause after a failed attempt to open a console; it grows to five times this value. Default:
   * 1000.
   */
  readonly retryMs?: number;
  /**
   * When silent consoles are checked. Default: {@link silencePace}; {@link uncheckedPace} if the driver
   * accepts a second client.
   */
  readonly silence?: SilencePace;
  /** Default: {@link keyboardTimes}. */
  readonly keyboard?: KeyboardTimes;
}

/** The connection to a machine's console, and its keyboard. */
interface SharedConsole {
  readonly line: ConsoleLine;
  readonly keyboard: Keyboard;
}

/**
 * The pause between two checks of silent consoles. It limits their cost: thousands of idle consoles
 * cause at most four checks in a second. Checks after input or a change of the machine do not wait.
 */
const CHECK_PAUSE_MS = 250;

/** Creates the hub. It follows the changes of the machines, which the driver reports, until it is closed. */
export function createConsoleHub(options: ConsoleHubOptions): ConsoleHub {
  const { driver, log, retryMs = 1_000, keyboard: times = keyboardTimes } = options;
  // The check of a silent console needs a hypervisor that rejects a second client.
  const isChecked = driver.console.acceptsSecondClient !== true;
  const { silence = isChecked ? silencePace : uncheckedPace } = options;
  const consoles = new Map<string, SharedConsole>();
  let lastCheck: Promise<void> = Promise.resolve();
  const inTurn = (check: () => Promise<void>): void => {
    lastCheck = lastCheck.then(check).then(() => sleep(CHECK_PAUSE_MS, undefined, { ref: false }));
  };
  const unsubscribe = driver.onChange(({ uuid, kind }) => consoles.get(uuid)?.line.onMachineChange(kind));

  const consoleOf = (uuid: string): SharedConsole => {
    const known = consoles.get(uuid);
    if (known !== undefined) return known;
    const line = new ConsoleLine({
      open: (signal) => driver.console.open(uuid, { signal }),
      retryMs,
      warn: (error) => log.warn('connecting to the console of a machine failed', { machine: uuid, error }),
      silence,
      isChecked,
      inTurn,
      onReplaced: () => log.info('the console of a machine was lost: connected again', { machine: uuid }),
    });
    const shared = { line, keyboard: new Keyboard(times) };
    consoles.set(uuid, shared);
    return shared;
  };
  const join = (uuid: string, listener: ConsoleListener): SharedConsole & { readonly detach: () => void } => {
    const shared = consoleOf(uuid);
    shared.line.join(listener);
    const detach = (): void => {
      if (!shared.line.leave(listener) || consoles.get(uuid) !== shared) return;
      consoles.delete(uuid);
      shared.line.close();
    };
    return { ...shared, detach };
  };

  return {
    attach(uuid, listener) {
      const { detach } = join(uuid, listener);
      return { detach };
    },
    seat(uuid, client) {
      const { line, keyboard, detach } = join(uuid, client);
      keyboard.join(client);
      return {
        takeKeyboard: () => keyboard.take(client),
        releaseKeyboard: () => keyboard.release(client),
        write(bytes, onAccepted) {
          if (!keyboard.isHeldBy(client) && isTerminalReport(bytes)) {
            onAccepted?.();
            return true;
          }
          const isAllowed = keyboard.claim(client);
          if (isAllowed) line.write(bytes, onAccepted);
          return isAllowed;
        },
        async sendBreak() {
          if (!keyboard.claim(client)) return false;
          await driver.console.sendBreak(uuid);
          return true;
        },
        detach() {
          keyboard.leave(client);
          detach();
        },
      };
    },
    close() {
      unsubscribe();
      for (const { line, keyboard } of consoles.values()) {
        line.close();
        keyboard.close();
      }
      consoles.clear();
    },
  };
}
