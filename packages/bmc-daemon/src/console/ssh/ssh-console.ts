/** Connects one console to one SSH channel: output, input, and the messages of this service. */
import type { ServerChannel } from 'ssh2';
import type { ConsoleHub, ConsoleSeat } from '../console-hub.js';
import type { ConsoleState } from '../console-condition.js';
import type { KeyboardStatus } from '../console-keyboard.js';
import { ConsoleOutput } from '../console-output.js';
import { EscapeReader, type EscapeAction, type Typed } from './ssh-escape.js';
import { askText, changeText, refusalText } from './ssh-keyboard.js';
import { ReturnKeys } from './ssh-return-keys.js';

/** Options of {@link SshConsole}. */
interface SshConsoleOptions {
  readonly channel: ServerChannel;
  /**
   * Returns the number of unsent bytes in the connection's socket. The client chooses the channel's
   * window, up to 4 GiB. With a large window, the channel's buffer stays empty, so only the socket
   * shows that the client is slow.
   */
  readonly unsentBytes: () => number;
  readonly hub: Pick<ConsoleHub, 'seat'>;
  /** The client's name for other clients of the console. */
  readonly clientName: string;
  readonly machine: { readonly uuid: string; readonly name: string };
  /**
   * Whether the client has a terminal in raw mode. It then sends CR for Enter, and needs CR LF at
   * the end of a line.
   */
  readonly terminal: boolean;
  /** Called once, when the console ends. */
  readonly onEnd: (why: string) => void;
}

/** Maximum number of typed bytes that the guest has not read. */
const MAX_TYPED_BYTES = 64 * 1024;
/**
 * A client that sent input and closed its end waits for the answer of the guest. The answer is over
 * when the guest prints nothing for this time.
 */
const SILENCE_MS = 2_000;
/** Time for the last message to reach the client. */
const GOODBYE_MS = 5_000;

/** Exit status if the client left, or if its input ended and no input was lost. */
const LEFT = 0;
/** Exit status if this service ended the console, if there is no console, or if input was lost. */
const FAILED = 1;

/** One console on one channel. */
export class SshConsole {
  readonly #options: SshConsoleOptions;
  readonly #seat: ConsoleSeat;
  readonly #output: ConsoleOutput;
  readonly #escapes = new EscapeReader();
  readonly #returnKeys = new ReturnKeys();
  /** Text and commands of the client that wait, in their order. */
  readonly #input: Typed[] = [];
  /** Whether the input of a client without a terminal waits for the keyboard. */
  #waitsForKeyboard = false;
  #keyboard: KeyboardStatus = { holder: null, isYours: false, asker: null };
  /** Whether the client has received the message that another client has the keyboard. */
  #hasReportedHolder = false;
  #state: ConsoleState | undefined;
  /** The reason in the last message to the client. */
  #lastReason: string | undefined;
  #ended = false;
  /** Bytes that the guest has not read yet. */
  #unreadBytes = 0;
  #hasTyped = false;
  /** Number of bytes that the client sent while the console was not open. */
  #lostBytes = 0;
  /** Whether a break is being sent. */
  #isSendingBreak = false;
  /** Set while the guest may still answer a client that closed its end. */
  #silence: NodeJS.Timeout | undefined;

  constructor(options: SshConsoleOptions) {
    this.#options = options;
    const { channel, hub, machine, clientName } = options;
    this.#output = new ConsoleOutput({
      send: (bytes, onSent) => void channel.write(bytes, onSent),
      behindBytes: () => this.#behindBytes(),
      notice: (text) => this.#notice(text),
    });
    channel.on('error', () => this.#cleanUp('the connection broke'));
    channel.stderr.on('error', () => this.onDisconnect());
    channel.on('close', () => this.onDisconnect());
    this.#seat = hub.seat(machine.uuid, {
      name: clientName,
      data: (bytes) => this.#show(bytes),
      state: (state, why) => this.#tell(state, why),
      keyboard: (status) => this.#tellKeyboard(status),
    });
  }

  /** Cleans up after a client that disconnected. */
  onDisconnect(): void {
    this.#cleanUp('the client has disconnected');
  }

  /** Ends the console, and shows the reason to the client. */
  end(why: string): void {
    this.#end(FAILED, why);
  }

  #tell(state: ConsoleState, why: string): void {
    const { name } = this.#options.machine;
    const before = this.#state;
    const isNew = why !== this.#lastReason;
    [this.#state, this.#lastReason] = [state, why];
    if (before === undefined) {
      // Reads no input before the state of the console is known, because it would drop piped input.
      const { channel } = this.#options;
      channel.on('data', (bytes: Buffer) => this.#type(bytes));
      channel.on('end', () => this.#endOfInput());
      this.#notice(
        [
          state === 'open'
            ? `Connected to ${name}`
            : `${name}: ${why}${state === 'absent' ? '' : '; waiting for the console'}`,
          state === 'absent' ? '' : '. To leave: ~. at the start of a line, or Ctrl-] and a dot. Help: ~?',
        ].join(''),
      );
    } else if (isNew) {
      // If the state was already `open`, a new stream has replaced a lost one. The reason then says which
      // output may be missing.
      const isConnected = state === 'open' && before !== 'open';
      this.#notice(isConnected ? `connected to ${name}` : `${name}: ${why}`);
    }
    if (state === 'absent') this.#end(FAILED, `${name}: ${why}`, { silently: true });
  }

  #tellKeyboard(status: KeyboardStatus): void {
    const before = this.#keyboard;
    this.#keyboard = status;
    if (status.holder !== before.holder) this.#hasReportedHolder = false;
    const text = changeText(before, status);
    if (text !== null) this.#notice(text);
    if (this.#waitsForKeyboard && (status.isYours || status.asker === null)) this.#continueInput();
  }

  #show(bytes: Buffer): void {
    if (this.#ended) return;
    this.#silence?.refresh();
    this.#output.show(bytes);
  }

  /** Call this when the client's socket is empty: shows how many bytes were dropped, and output continues. */
  onDrain(): void {
    this.#output.onDrain();
  }

  #behindBytes(): number {
    const { channel, unsentBytes } = this.#options;
    return channel.writableLength + channel.stderr.writableLength + unsentBytes();
  }

  #type(bytes: Buffer): void {
    if (this.#ended) return;
    this.#input.push(...this.#escapes.read(this.#options.terminal ? bytes : this.#returnKeys.read(bytes)));
    if (!this.#waitsForKeyboard) this.#continueInput();
  }

  /** Writes text to the guest and executes commands, until the input has to wait for the keyboard. */
  #continueInput(): void {
    this.#waitsForKeyboard = false;
    for (let typed = this.#input[0]; typed !== undefined && !this.#ended; typed = this.#input[0]) {
      if ('action' in typed) this.#act(typed.action);
      else if (!this.#send(typed.bytes)) {
        this.#waitsForKeyboard = true;
        this.#options.channel.pause();
        this.#seat.takeKeyboard();
        return;
      }
      this.#input.shift();
    }
    this.#resume();
  }

  #resume(): void {
    const { channel } = this.#options;
    if (this.#unreadBytes <= MAX_TYPED_BYTES && !this.#waitsForKeyboard && channel.isPaused()) channel.resume();
  }

  /**
   * Writes input to the guest. Discards the input if the console is not open, or if another client has
   * the keyboard and this client has a terminal.
   * @returns false if another client has the keyboard and this client has no terminal. Its input must wait.
   */
  #send(bytes: Buffer): boolean {
    const { channel, terminal } = this.#options;
    if (bytes.length === 0) return true;
    this.#hasTyped = true;
    if (this.#state !== 'open') {
      this.#lostBytes += bytes.length;
      return true;
    }
    this.#unreadBytes += bytes.length;
    const isWritten = this.#seat.write(bytes, () => {
      this.#unreadBytes -= bytes.length;
      this.#silence?.refresh();
      this.#resume();
    });
    if (!isWritten) this.#unreadBytes -= bytes.length;
    if (this.#unreadBytes > MAX_TYPED_BYTES) channel.pause();
    if (!isWritten && terminal) this.#reportHolder();
    return isWritten || terminal;
  }

  /** Tells the client that another client has the keyboard, once for each holder. */
  #reportHolder(): void {
    if (this.#hasReportedHolder) return;
    this.#hasReportedHolder = true;
    this.#notice(refusalText(this.#keyboard));
  }

  #act(action: EscapeAction): void {
    const { name } = this.#options.machine;
    switch (action) {
      case 'leave':
        this.#end(LEFT, `left the console of ${name}`);
        return;
      case 'help':
        this.#notice(...help);
        return;
      case 'take':
        this.#seat.takeKeyboard();
        this.#notice(askText(this.#keyboard, this.#options.clientName));
        return;
      case 'give':
        this.#seat.releaseKeyboard();
        return;
      case 'break':
        // Sends one break at a time, because each is a call to the machine's QEMU monitor.
        if (this.#isSendingBreak) return;
        this.#isSendingBreak = true;
        void this.#seat
          .sendBreak()
          .then(
            (isSent) => (isSent ? this.#notice('break sent') : this.#reportHolder()),
            (error: unknown) => this.#notice(error instanceof Error ? error.message : 'the break could not be sent'),
          )
          .finally(() => (this.#isSendingBreak = false));
        return;
    }
  }

  #endOfInput(): void {
    this.#send(this.#escapes.end());
    // A client without input (`ssh -n`, `</dev/null`) only watches, so the end of its input does not end the console.
    if (!this.#hasTyped || this.#ended) return;
    this.#silence = setTimeout(() => {
      if (this.#lostBytes === 0) this.#end(LEFT, 'end of input', { silently: true });
      else this.#end(FAILED, `${this.#lostBytes} bytes of input were lost: the console was not open`);
    }, SILENCE_MS);
  }

  #notice(...lines: readonly string[]): void {
    const { channel, terminal } = this.#options;
    if (this.#ended || !channel.writable || !channel.stderr.writable) return;
    // A client that asks for help and never reads the answer must not fill the memory.
    if (this.#output.isBehind) return;
    if (terminal) channel.write(`\r\n[${lines.join('\r\n ')}]\r\n`);
    // Standard output carries only the output of the guest.
    else channel.stderr.write(`${lines.join('\n')}\n`);
  }

  #end(status: number, why: string, { silently = false } = {}): void {
    if (this.#ended) return;
    if (!silently) this.#notice(why);
    const { channel } = this.#options;
    this.#cleanUp(why);
    channel.exit(status);
    channel.end();
    // A client that never reads would keep the channel open, so this code closes the channel after a time limit.
    setTimeout(() => channel.close(), GOODBYE_MS).unref();
  }

  #cleanUp(why: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#silence);
    this.#seat.detach();
    this.#input.length = 0;
    // Reads and discards later input, so that the channel can close.
    this.#options.channel.resume();
    this.#options.onEnd(why);
  }
}

const help = [
  'at the start of a line:',
  '~.  leaves the console',
  '~B  sends a break',
  '~T  asks for the keyboard',
  '~G  hands the keyboard over',
  '~~  sends a tilde',
  '~?  prints this',
  'Ctrl-] works anywhere, like ~ at the start of a line',
];
