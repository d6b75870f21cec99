/**
 * The serial port of a machine, for people and programs that read and type. A driver without it has no `console`, and nothing of
 * it is linked or served; a machine without such a port has no `hasConsole` in its snapshot.
 */
import type { Duplex } from 'node:stream';
import type { OperationOptions } from './driver.js';

/** Every method takes an id as those of the driver do, and rejects with a {@link DriverError}. */
export interface ConsoleControl {
  /**
   * Connects to the first serial port of the running machine that one can connect to.
   * @returns raw bytes both ways, with backpressure. It closes when the machine goes off or somebody else takes the port by force,
   * with an `error` where libvirt gives a reason; whoever opened it destroys it.
   * @throws {DriverError} conflict: it is off; unsupported: it has no such port; consoleInUse: somebody else is connected, and the
   * port has room for one.
   */
  open(id: string, options?: OperationOptions): Promise<Duplex>;
  /**
   * Holds the line in its break state for a moment, which is Linux's SysRq key on a serial console.
   * @throws {DriverError} conflict: it is off; unsupported: the hypervisor has no way, or not for us.
   */
  sendBreak(id: string): Promise<void>;
  /**
   * What tells this run of the machine from its runs before and after, whoever asks and when: a reboot of its guest changes nothing,
   * off and on does. To be compared, not to be understood.
   * @throws {DriverError} conflict: it is off.
   */
  instance(id: string): Promise<string>;
}
