/** Connects one console to one WebSocket: the log of this boot, output, input and the keyboard. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { WebSocketClient, WebSocketHandler } from '../../redfish/web-socket.js';
import type { ConsoleState } from '../console-condition.js';
import type { ConsoleHub, ConsoleSeat } from '../console-hub.js';
import { keyboardTimes, type KeyboardStatus } from '../console-keyboard.js';
import { ConsoleOutput } from '../console-output.js';
import type { ConsoleLog } from '../log/console-log.js';
import { readClientMessage, type ClientMessage, type ServiceMessage } from './console-messages.js';

/** Options of {@link WebConsole}. */
interface WebConsoleOptions {
  readonly client: Pick<WebSocketClient, 'send' | 'pause' | 'resume' | 'close'>;
  readonly hub: Pick<ConsoleHub, 'seat'>;
  /** Null if the output is not recorded. */
  readonly bootLog: Pick<ConsoleLog, 'follow'> | null;
  /** The client's name for other clients of the console. */
  readonly clientName: string;
  readonly machine: { readonly uuid: string; readonly name: string };
  readonly log: Pick<Log, 'warn'>;
}

/** Maximum number of WebSockets of a console. */
export const maxWebConsoles = 16;
/** Maximum number of typed bytes that the guest has not read. */
const MAX_TYPED_BYTES = 64 * 1024;

/** One console on one WebSocket. */
export class WebConsole implements WebSocketHandler {
  readonly #options: WebConsoleOptions;
  readonly #output: ConsoleOutput;
  #seat: ConsoleSeat | undefined;
  #state: ConsoleState | undefined;
  /** Messages that arrived before the console had a state. */
  #earlyMessages: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
  #isClosed = false;
  /** Whether the WebSocket has unsent messages: true from a `send` that returned false until `drained`. */
  #isBusy = false;
  #sentBytes = 0;
  /** Bytes that the client has processed; undefined: the client does not report them. */
  #processedBytes: number | undefined;
  /** Bytes that the guest has not read yet. */
  #unreadTypedBytes = 0;
  #isSendingBreak = false;

  constructor(options: WebConsoleOptions) {
    this.#options = options;
    const { clientName: you, machine } = options;
    this.#output = new ConsoleOutput({
      send: (bytes) => this.#show(bytes),
      behindBytes: () => (this.#isBusy ? Infinity : this.#sentBytes - (this.#processedBytes ?? this.#sentBytes)),
      notice: (text) => this.#tell({ type: 'notice', text }),
    });
    this.#tell({ type: 'hello', machine: machine.name, you, handOverSeconds: keyboardTimes.handOverMs / 1000 });
    options.client.pause();
    void this.#begin();
  }

  message(data: Buffer, isBinary: boolean): void {
    if (this.#isClosed) return;
    if (this.#state === undefined) this.#earlyMessages.push({ data, isBinary });
    else if (isBinary) this.#type(data);
    else this.#execute(readClientMessage(data.toString()));
  }

  drained(): void {
    this.#isBusy = false;
    this.#output.onDrain();
  }

  closed(): void {
    this.#isClosed = true;
    this.#seat?.detach();
  }

  /** Sends the log of this boot, and then the live output. */
  async #begin(): Promise<void> {
    const { bootLog, log, machine } = this.#options;
    try {
      await bootLog?.follow(({ number, text }) => {
        this.#tell({ type: 'boot', boot: number, bytes: text.length });
        if (text.length > 0) this.#show(text);
        this.#attach();
      });
    } catch (error) {
      log.warn('reading the console log of a machine failed', { machine: machine.name, error });
      this.#tell({ type: 'notice', text: 'The earlier output of this boot cannot be read.' });
    }
    this.#attach();
  }

  #attach(): void {
    if (this.#isClosed || this.#seat !== undefined) return;
    const { hub, machine, clientName: name } = this.#options;
    this.#seat = hub.seat(machine.uuid, {
      name,
      data: (bytes) => this.#output.show(bytes),
      state: (state, why) => this.#onState(state, why),
      keyboard: (status) => this.#onKeyboard(status),
    });
  }

  #onState(state: ConsoleState, why: string): void {
    const { client } = this.#options;
    const isFirst = this.#state === undefined;
    this.#state = state;
    this.#tell({ type: 'state', state, why });
    if (state === 'absent') {
      client.close(4404, why);
      return;
    }
    if (!isFirst) return;
    client.resume();
    for (const { data, isBinary } of this.#earlyMessages.splice(0)) this.message(data, isBinary);
  }

  #onKeyboard({ holder, asker, isYours }: KeyboardStatus): void {
    this.#tell({ type: 'keyboard', holder, asker, yours: isYours });
  }

  #type(bytes: Buffer): void {
    const { client } = this.#options;
    if (bytes.length === 0) return;
    if (this.#state !== 'open') {
      this.#drop(bytes, 'the console is not open');
      return;
    }
    this.#unreadTypedBytes += bytes.length;
    const accepted = (): void => {
      this.#unreadTypedBytes -= bytes.length;
      if (this.#unreadTypedBytes <= MAX_TYPED_BYTES) client.resume();
    };
    if (this.#seat?.write(bytes, accepted) !== true) {
      accepted();
      this.#drop(bytes, 'another client has the keyboard');
    } else if (this.#unreadTypedBytes > MAX_TYPED_BYTES) client.pause();
  }

  #drop({ length }: Buffer, why: string): void {
    // Omits the message while others are unsent: a client that types and never reads must not fill the memory.
    if (!this.#isBusy) this.#tell({ type: 'dropped', bytes: length, why });
  }

  #execute(message: ClientMessage | string): void {
    if (typeof message === 'string') {
      this.#options.client.close(4400, message);
      return;
    }
    switch (message.type) {
      case 'take':
        this.#seat?.takeKeyboard();
        return;
      case 'release':
        this.#seat?.releaseKeyboard();
        return;
      case 'break':
        void this.#sendBreak();
        return;
      case 'read':
        this.#processedBytes = Math.min(this.#sentBytes, Math.max(this.#processedBytes ?? 0, message.bytes));
        this.#output.onDrain();
        return;
    }
  }

  async #sendBreak(): Promise<void> {
    // Sends one break at a time, because each is a call to the machine's QEMU monitor.
    if (this.#isSendingBreak) return;
    this.#isSendingBreak = true;
    let text: string;
    try {
      const isSent = await this.#seat?.sendBreak();
      text = isSent === true ? 'break sent' : 'no break was sent: another client has the keyboard';
    } catch (error) {
      text = error instanceof Error ? error.message : 'the break could not be sent';
    }
    this.#isSendingBreak = false;
    this.#tell({ type: 'notice', text });
  }

  #show(bytes: Buffer): void {
    this.#sentBytes += bytes.length;
    this.#send(bytes);
  }

  #tell(message: ServiceMessage): void {
    this.#send(JSON.stringify(message));
  }

  #send(message: string | Buffer): void {
    if (this.#isClosed) return;
    if (!this.#options.client.send(message)) this.#isBusy = true;
  }
}
