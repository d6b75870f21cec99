/**
 * Serial consoles of machines. A driver without consoles has no `console`, and resources then show
 * none. A machine without a serial port has no `hasConsole` in its snapshot.
 */
import type { Duplex } from 'node:stream';
import type { OperationOptions } from './operation-options.js';

/**
 * Serial consoles. An id is a UUID or a name. If a method fails, it rejects with a {@link DriverError}: a kind that it
 * lists, or notFound (no such machine), unavailable (no answer of the hypervisor) or failed.
 */
export interface ConsoleControl {
  /**
   * Connects to the first usable serial port of the running machine.
   * @returns raw bytes in both directions, with backpressure. The stream closes when the machine
   *   stops, or when another client takes the port by force. It emits `error` if the hypervisor
   *   reports a reason. The caller destroys the stream.
   * @throws {DriverError} conflict: the machine is off; unsupported: it has no usable serial port;
   *   consoleInUse: a client is connected, perhaps by an earlier call of `open`. So `ConsoleLine` calls
   *   `open` to check a silent stream: if the call succeeds, the hypervisor has lost the stream. The error
   *   does not occur with {@link acceptsSecondClient};
   *   consoleNotReady: the machine is starting or stopping;
   *   consoleUnreachable: the connection to the proxy of the console failed.
   */
  open(id: string, options?: OperationOptions): Promise<Duplex>;
  /**
   * Sends a break over the serial port. Linux handles a break on its serial console as the SysRq key.
   * @throws {DriverError} conflict: the machine is off; unsupported: the hypervisor cannot do it,
   *   or denies it.
   */
  sendBreak(id: string): Promise<void>;
  /**
   * Returns an id of the current run of the machine, for comparison only. A reboot of the guest
   * does not change the id; a power-off and a power-on do.
   * @throws {DriverError} conflict: the machine is off; unsupported: the hypervisor has no such id.
   */
  instance(id: string): Promise<string>;
  /**
   * True: `open` also succeeds if the port has another client. The new stream has no output until that
   * client leaves. So `ConsoleLine` cannot check a silent stream by a second `open`. Instead, it replaces
   * a stream that stays silent after a change of the machine.
   */
  readonly acceptsSecondClient?: true | undefined;
}
