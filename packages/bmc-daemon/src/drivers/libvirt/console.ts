/** Serial ports of real machines: libvirt's console streams, each on a connection of its own. */
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { isLibvirtError } from '@rackless/libvirt';
import type { ConsoleControl } from '../console-control.js';
import { DriverError, type OperationOptions } from '../driver.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { sendBreak } from './monitor.js';
import { readDomain, readInstanceId } from './xml/domain.js';

export interface LibvirtConsoleOptions {
  readonly host: Pick<Host, 'timeoutMs'>;
  readonly find: (id: string) => Promise<Machine>;
}

export class LibvirtConsole implements ConsoleControl {
  readonly #options: LibvirtConsoleOptions;

  constructor(options: LibvirtConsoleOptions) {
    this.#options = options;
  }

  async open(id: string, { signal }: OperationOptions = {}): Promise<Duplex> {
    const machine = await this.#options.find(id);
    const { timeoutMs } = this.#options.host;
    const doing = `connecting to the console of machine ${machine.name}`;
    const alias = await this.#port(machine, doing);
    try {
      // Without FORCE: whoever is connected already is not thrown out.
      return await machine.domain.openConsole(alias, 0, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      // libvirt has no code for it: its own session, and the lock file of another program, are both failed operations.
      if (isLibvirtError(error, 'OPERATION_FAILED'))
        throw new DriverError('consoleInUse', `${doing}: somebody else is connected`, { cause: error });
      return await attempt(doing, () => Promise.reject(error as Error));
    }
  }

  async sendBreak(id: string): Promise<void> {
    const machine = await this.#options.find(id);
    const doing = `sending a break to the console of machine ${machine.name}`;
    const alias = await this.#port(machine, doing);
    const sent = await sendBreak(machine.domain, alias, this.#options.host.timeoutMs);
    if (!sent) throw new DriverError('unsupported', `${doing}: there is no access to its QEMU monitor`);
  }

  async instance(id: string): Promise<string> {
    const { domain, name } = await this.#options.find(id);
    const { timeoutMs } = this.#options.host;
    const doing = `looking at the run of machine ${name}`;
    const domainId = readInstanceId(await attempt(doing, () => domain.getXmlDesc(0, { timeoutMs })));
    if (domainId === null) throw new DriverError('conflict', `${doing}: it is off`);
    // libvirt's numbers go up with each start of any machine, and begin again when the host does.
    return `${bootId()} ${domainId}`;
  }

  /** Alias of the running machine's port. */
  async #port({ domain }: Machine, doing: string): Promise<string> {
    const { timeoutMs } = this.#options.host;
    const xml = await attempt(doing, () => domain.getXmlDesc(0, { timeoutMs }));
    if (readInstanceId(xml) === null) throw new DriverError('conflict', `${doing}: it is off`);
    const alias = readDomain(xml).serialPort?.alias ?? null;
    if (alias === null) throw new DriverError('unsupported', `${doing}: it has no serial port that one can connect to`);
    return alias;
  }
}

/** Of this host's kernel; of a remote host's we learn nothing. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // No Linux: then a number that is given twice is taken for the same run.
    return '';
  }
}
