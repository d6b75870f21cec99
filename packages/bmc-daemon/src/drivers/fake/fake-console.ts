/** Serial ports of machines in memory: a few lines at each boot, and a terminal that echoes what is typed. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Duplex } from 'node:stream';
import type { ConsoleControl } from '../console-control.js';
import { DriverError, type SystemRef, type SystemSnapshot } from '../driver.js';
import type { MachineChange } from '../machine-change.js';

/** Who is connected to a port, or keeps others from it. */
interface Port {
  readonly stream: Duplex | null;
}

export class FakeConsoles implements ConsoleControl {
  readonly #find: (id: string) => SystemSnapshot;
  readonly #ports = new Map<string, Port>();
  /** By machine, what a guest has said since its start while nobody was connected. There is no time before a start here. */
  readonly #unheard = new Map<string, string>();
  /** By machine, a name for its run. */
  readonly #instances = new Map<string, string>();

  /** @param find throws where there is no such machine. */
  constructor(find: (id: string) => SystemSnapshot) {
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
    const unheard = this.#unheard.get(machine.uuid);
    this.#unheard.delete(machine.uuid);
    if (unheard !== undefined) stream.push(unheard);
    return stream;
  }

  async sendBreak(id: string): Promise<void> {
    await setImmediate();
    const { uuid } = this.#running(id);
    this.#say(uuid, '\r\nsysrq: HELP\r\n');
  }

  async instance(id: string): Promise<string> {
    await setImmediate();
    const { uuid } = this.#running(id);
    const instance = this.#instances.get(uuid) ?? randomUUID();
    this.#instances.set(uuid, instance);
    return instance;
  }

  /**
   * Throws out who is connected and keeps the port, as `virsh console --force` does.
   * @returns what leaves it again.
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

  /** What becomes of the port with its machine. To be called before anybody else is told. */
  follow({ kind, uuid, name }: Pick<MachineChange, 'kind' | 'uuid' | 'name'>): void {
    if (kind === 'started' || kind === 'rebooted') this.#say(uuid, bootLines({ name, uuid }));
    if (kind !== 'stopped' && kind !== 'crashed' && kind !== 'undefined') return;
    this.#unheard.delete(uuid);
    this.#instances.delete(uuid);
    this.#ports.get(uuid)?.stream?.destroy();
    this.#ports.delete(uuid);
  }

  #say(uuid: string, text: string): void {
    const port = this.#ports.get(uuid);
    if (port === undefined) this.#unheard.set(uuid, text);
    // Not before everybody was told what happened: firmware takes a moment until it says something.
    else queueMicrotask(() => port.stream?.push(text));
  }

  #running(id: string): SystemSnapshot {
    const machine = this.#find(id);
    const doing = `connecting to the console of machine ${machine.name}`;
    if (machine.hasConsole !== true) throw new DriverError('unsupported', `${doing}: it has no serial port`);
    if (machine.state === 'shutoff' || machine.state === 'crashed')
      throw new DriverError('conflict', `${doing}: it is off`);
    return machine;
  }
}

function bootLines({ name, uuid }: SystemRef): string {
  const lines = ['', `Rackless made-up firmware, machine ${uuid}`, 'Booting from hard disk...', '', prompt(name)];
  return lines.join('\r\n');
}

function prompt(name: string): string {
  return `${name} login: `;
}

/** Echoes each key; Enter, and Ctrl-C, give a new prompt; backspace takes a character back. */
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
      // One byte is one key: what is echoed has to be what was typed, whatever its encoding.
      const keys = Array.from(chunk, (byte) => String.fromCharCode(byte));
      stream.push(Buffer.from(keys.map(answer).join(''), 'latin1'));
      done();
    },
  });
  return stream;
}
