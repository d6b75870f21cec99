/**
 * Serial consoles of machines in memory: a few lines at each boot, and a terminal that echoes its
 * input.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Duplex } from 'node:stream';
import type { ConsoleControl } from '../console-control.js';
import { DriverError } from '../driver-error.js';
import type { SystemRef, CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { MachineChange } from '../machine-change.js';

/**
 * A port in use. `stream` belongs to its client; null: {@link FakeConsoles.seize} locks the port.
 */
interface Port {
  readonly stream: Duplex | null;
}

/** Serial ports of fake machines. Each echoes its input. */
export class FakeConsoles implements ConsoleControl {
  readonly #find: (id: string) => CompleteSnapshot;
  readonly #ports = new Map<string, Port>();
  /**
   * The last text that a port sent while no client was connected, by machine. The next client
   * receives it.
   */
  readonly #unread = new Map<string, string>();
  /** Ids of the current runs, by the UUID of the machine. {@link instance} adds a machine's id at its first call. */
  readonly #instances = new Map<string, string>();

  /** @param find throws for an unknown machine. */
  constructor(find: (id: string) => CompleteSnapshot) {
    this.#find = find;
  }

  async open(id: string): Promise<Duplex> {
    await setImmediate();
    const machine = this.#running(id);
    if (this.#ports.has(machine.uuid))
      throw new DriverError(
        'consoleInUse',
        `connecting to the console of machine ${machine.name}: another client is connected`,
      );
    const stream = terminal(machine);
    const port = { stream };
    this.#ports.set(machine.uuid, port);
    stream.once('close', () => {
      if (this.#ports.get(machine.uuid) === port) this.#ports.delete(machine.uuid);
    });
    const unread = this.#unread.get(machine.uuid);
    this.#unread.delete(machine.uuid);
    if (unread !== undefined) stream.push(unread);
    return stream;
  }

  async sendBreak(id: string): Promise<void> {
    await setImmediate();
    const { uuid } = this.#running(id);
    this.#print(uuid, '\r\nsysrq: HELP\r\n');
  }

  async instance(id: string): Promise<string> {
    await setImmediate();
    const { uuid } = this.#running(id);
    const instance = this.#instances.get(uuid) ?? randomUUID();
    this.#instances.set(uuid, instance);
    return instance;
  }

  /**
   * Disconnects the client and locks the port, as `virsh console --force` does.
   * @returns the function that unlocks it.
   * @throws {DriverError} as {@link sendBreak}: the machine is off, unknown, or has no serial port.
   */
  seize(id: string): () => void {
    const { uuid } = this.#running(id);
    const port = { stream: null };
    this.#ports.get(uuid)?.stream?.destroy();
    this.#ports.set(uuid, port);
    return () => {
      if (this.#ports.get(uuid) === port) this.#ports.delete(uuid);
    };
  }

  /** Updates the port after a change of its machine. Call it before the listeners, so that they see the new port. */
  follow({ kind, uuid, name }: Pick<MachineChange, 'kind' | 'uuid' | 'name'>): void {
    if (kind === 'started' || kind === 'rebooted') this.#print(uuid, bootLines({ name, uuid }));
    if (kind !== 'stopped' && kind !== 'crashed' && kind !== 'undefined') return;
    this.#unread.delete(uuid);
    this.#instances.delete(uuid);
    this.#ports.get(uuid)?.stream?.destroy();
    this.#ports.delete(uuid);
  }

  #print(uuid: string, text: string): void {
    const port = this.#ports.get(uuid);
    if (port === undefined) this.#unread.set(uuid, text);
    // Prints the text after all listeners have handled the change. Real firmware is silent at first
    // too.
    else queueMicrotask(() => port.stream?.push(text));
  }

  #running(id: string): CompleteSnapshot {
    const machine = this.#find(id);
    const doing = `using the console of machine ${machine.name}`;
    if (machine.hasConsole !== true) throw new DriverError('unsupported', `${doing}: it has no serial port`);
    if (machine.state === 'shutoff' || machine.state === 'crashed')
      throw new DriverError('conflict', `${doing}: it is off`);
    return machine;
  }
}

function bootLines({ name, uuid }: SystemRef): string {
  const lines = ['', `Rackless simulated firmware, machine ${uuid}`, 'Booting from hard disk...', '', prompt(name)];
  return lines.join('\r\n');
}

function prompt(name: string): string {
  return `${name} login: `;
}

/**
 * Returns a terminal that echoes each key. Enter and Ctrl-C print a new prompt; Backspace removes a
 * character.
 */
function terminal({ name }: SystemRef): Duplex {
  let typed = 0;
  const answer = (key: string): string => {
    if (key === '\r' || key === '\n') {
      typed = 0;
      return `\r\n${prompt(name)}`;
    }
    if (key === '\u0003') {
      typed = 0;
      return `^C\r\n${prompt(name)}`;
    }
    if (key === '\u007F' || key === '\b') {
      if (typed === 0) return '';
      typed -= 1;
      return '\b \b';
    }
    typed += 1;
    return key;
  };
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      // One byte is one key, so that the echo equals the input in every encoding.
      const keys = Array.from(chunk, (byte) => String.fromCharCode(byte));
      stream.push(Buffer.from(keys.map(answer).join(''), 'latin1'));
      done();
    },
  });
  return stream;
}
