/** Serial consoles of the machines of a libvirt host. Each libvirt console stream has its own connection. */
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { isLibvirtError } from '@rackless/libvirt';
import type { ConsoleControl } from '../console-control.js';
import { DriverError } from '../driver-error.js';
import type { OperationOptions } from '../operation-options.js';
import { attempt } from './failure.js';
import type { Host } from './machine/host.js';
import type { Machine } from './machine/inventory.js';
import { sendBreak } from './boot/monitor.js';
import { readDomain, readInstanceId } from './xml/domain.js';

/** Dependencies of {@link LibvirtConsole}. */
interface LibvirtConsoleOptions {
  readonly host: Pick<Host, 'timeoutMs' | 'files'>;
  readonly find: (id: string) => Promise<Machine>;
}

/** Consoles of the machines of one host. */
export class LibvirtConsole implements ConsoleControl {
  readonly #options: LibvirtConsoleOptions;

  constructor(options: LibvirtConsoleOptions) {
    this.#options = options;
  }

  async open(id: string, { signal }: OperationOptions = {}): Promise<Duplex> {
    const machine = await this.#options.find(id);
    const { timeoutMs } = this.#options.host;
    const doing = `connecting to the console of machine ${machine.name}`;
    const alias = await this.#portAlias(machine, doing);
    try {
      // Without FORCE, libvirt does not disconnect another client.
      return await machine.domain.openConsole(alias, 0, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      // libvirt reports OPERATION_FAILED in two cases: another client of libvirt has the console, or another program
      // has locked the port.
      if (isLibvirtError(error, 'OPERATION_FAILED'))
        throw new DriverError('consoleInUse', `${doing}: another client is connected`, { cause: error });
      return await attempt(doing, () => Promise.reject(error as Error));
    }
  }

  async sendBreak(id: string): Promise<void> {
    const machine = await this.#options.find(id);
    const doing = `sending a break to the console of machine ${machine.name}`;
    const alias = await this.#portAlias(machine, doing);
    const sent = await sendBreak(machine.domain, alias, this.#options.host.timeoutMs);
    if (!sent) throw new DriverError('unsupported', `${doing}: there is no access to its QEMU monitor`);
  }

  async instance(id: string): Promise<string> {
    const { domain, name } = await this.#options.find(id);
    const { timeoutMs, files } = this.#options.host;
    const doing = `reading the instance id of machine ${name}`;
    const domainId = readInstanceId(await attempt(doing, () => domain.getXmlDesc(0, { timeoutMs })));
    if (domainId === null) throw new DriverError('conflict', `${doing}: it is off`);
    // libvirt's ids increase with each start of any machine, and begin with 1 again after a boot of
    // the host. So the result also contains the boot id.
    return `${files.areLocal ? bootId() : ''} ${domainId}`;
  }

  /**
   * Returns the alias of the serial port of the running machine.
   * @throws {DriverError} conflict, if the machine is off; unsupported, if it has no serial port with a
   *   console; the errors of libvirt.
   */
  async #portAlias({ domain }: Machine, doing: string): Promise<string> {
    const { timeoutMs } = this.#options.host;
    const xml = await attempt(doing, () => domain.getXmlDesc(0, { timeoutMs }));
    if (readInstanceId(xml) === null) throw new DriverError('conflict', `${doing}: it is off`);
    const alias = readDomain(xml).serialPort?.alias ?? null;
    if (alias === null) throw new DriverError('unsupported', `${doing}: it has no serial port with a console`);
    return alias;
  }
}

/** Returns the boot id of this host; empty if it has none. libvirt does not report the boot id of another host. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // This host is not Linux, so there is no boot id. An instance id that is used again then counts
    // as the same run.
    return '';
  }
}
