/** Connects one console to one SSH channel: output, input, and the messages of this service. */
import type { ServerChannel } from 'ssh2';
import type { ConsoleAttachment, ConsoleHub } from '../console-hub.js';
import type { ConsoleState } from '../console-condition.js';
import { EscapeReader, type EscapeAction } from './ssh-escape.js';

/** Options of {@link SshConsole}. */
interface SshConsoleOptions {
  readonly channel: ServerChannel;
  /**
   * Returns the unsent bytes of the connection's socket. The client chooses the channel's window,
   * up to 4 GiB, so the socket counts too.
   */
  readonly unsentBytes: () => number;
  readonly hub: Pick<ConsoleHub, 'attach' | 'sendBreak'>;
  readonly machine: { readonly uuid: string; readonly name: string };
  /**
   * Whether the client has a terminal in raw mode. It then sends CR for Enter, and needs CR LF at
   * the end of a line.
   */
  readonly terminal: boolean;
  /** Called once, when the console ends. */
  readonly onEnd: (why: string) => void;
}

/**
 * The maximum backlog of a slow client. An OpenSSH client accepts up to 2 MiB before its backlog
 * begins.
 */
const MAX_BEHIND_BYTES = 1024 * 1024;
/**
 * A client with a smaller backlog has caught up. The value is larger than one write of the socket,
 * so the backlog is smaller than this at the event `drain`.
 */
const CAUGHT_UP_BYTES = 64 * 1024;
/** Maximum number of typed bytes that the guest has not read. */
const MAX_TYPED_BYTES = 64 * 1024;
/**
 * A client that sent input and closed its end waits for the answer of the guest. The answer is over
 * when the guest prints nothing for this time.
 */
const SILENCE_MS = 2_000;
/** Time for the last message to reach the client. */
const GOODBYE_MS = 5_000;

/** Exit statuses of a console: the client left, or the console or the input failed. */
const LEFT = 0;
const FAILED = 1;

/** One console on one channel. */
export class SshConsole {
  readonly #options: SshConsoleOptions;
  readonly #attachment: ConsoleAttachment;
  readonly #escapes = new EscapeReader();
  #state: ConsoleState | undefined;
  /** The reason in the last message to the client. */
  #why: string | undefined;
  #ended = false;
  /** Bytes that were dropped since the client fell behind. */
  #leftOut = 0;
  /** Bytes that the guest has not read yet. */
  #typing = 0;
  #hasTyped = false;
  /** Bytes that the client typed while the console was closed. */
  #lost = 0;
  #wasReturn = false;
  /** Whether a break is being sent. */
  #breaking = false;
  /** Set while the guest may still answer a client that closed its end. */
  #silence: NodeJS.Timeout | undefined;

  constructor(options: SshConsoleOptions) {
    this.#options = options;
    const { channel, hub, machine } = options;
    channel.on('error', () => this.#cleanUp('the connection broke'));
    channel.stderr.on('error', () => this.gone());
    channel.on('close', () => this.gone());
    this.#attachment = hub.attach(machine.uuid, {
      data: (bytes) => this.#show(bytes),
      state: (state, why) => this.#tell(state, why),
    });
  }

  /** Cleans up after a client that disconnected. */
  gone(): void {
    this.#cleanUp('the client has disconnected');
  }

  /** Ends the console, and shows the reason to the client. */
  end(why: string): void {
    this.#end(FAILED, why);
  }

  #tell(state: ConsoleState, why: string): void {
    const { name } = this.#options.machine;
    const before = this.#state;
    const isNew = why !== this.#why;
    [this.#state, this.#why] = [state, why];
    if (before === undefined) {
      // Reads input only from now on. Piped input arrives before the first state, and would be
      // lost.
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
      // A second `open` with another reason replaces a lost stream, and says what is missing.
      const isConnected = state === 'open' && before !== 'open';
      this.#notice(isConnected ? `connected to ${name}` : `${name}: ${why}`);
    }
    if (state === 'absent') this.#end(FAILED, `${name}: ${why}`, { silently: true });
  }

  #show(bytes: Buffer): void {
    const { channel } = this.#options;
    if (this.#ended) return;
    this.#silence?.refresh();
    if (this.#leftOut > 0 || this.#behindBytes() > MAX_BEHIND_BYTES) {
      this.#leftOut += bytes.length;
      return;
    }
    channel.write(bytes, () => this.caughtUp());
  }

  #behindBytes(): number {
    const { channel, unsentBytes } = this.#options;
    return channel.writableLength + channel.stderr.writableLength + unsentBytes();
  }

  /**
   * Shows how many bytes were dropped, as soon as the client has read all earlier ones. Also called
   * when the socket is empty.
   */
  caughtUp(): void {
    if (this.#leftOut === 0 || this.#behindBytes() > CAUGHT_UP_BYTES) return;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    this.#notice(`${leftOut} bytes are missing here: this connection is too slow`);
  }

  #type(bytes: Buffer): void {
    for (const typed of this.#escapes.read(this.#options.terminal ? bytes : this.#withReturns(bytes))) {
      if (this.#ended) return;
      if ('action' in typed) this.#act(typed.action);
      else this.#send(typed.bytes);
    }
  }

  /** Converts line ends of files to CR, which the Enter key sends. */
  #withReturns(bytes: Buffer): Buffer {
    const keys = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    for (const byte of bytes) {
      if (byte !== 0x0a || !this.#wasReturn) {
        keys[length] = byte === 0x0a ? 0x0d : byte;
        length += 1;
      }
      this.#wasReturn = byte === 0x0d;
    }
    return keys.subarray(0, length);
  }

  #send(bytes: Buffer): void {
    const { channel } = this.#options;
    if (bytes.length === 0) return;
    this.#hasTyped = true;
    if (this.#state !== 'open') {
      this.#lost += bytes.length;
      return;
    }
    this.#typing += bytes.length;
    if (this.#typing > MAX_TYPED_BYTES) channel.pause();
    this.#attachment.write(bytes, () => {
      this.#typing -= bytes.length;
      this.#silence?.refresh();
      if (this.#typing <= MAX_TYPED_BYTES && channel.isPaused()) channel.resume();
    });
  }

  #act(action: EscapeAction): void {
    const { name, uuid } = this.#options.machine;
    switch (action) {
      case 'leave':
        this.#end(LEFT, `left the console of ${name}`);
        return;
      case 'help':
        this.#notice(...help);
        return;
      case 'break':
        // Sends one break at a time, because each is a call to the machine's QEMU monitor.
        if (this.#breaking) return;
        this.#breaking = true;
        void this.#options.hub
          .sendBreak(uuid)
          .then(
            () => this.#notice('break sent'),
            (error: unknown) => this.#notice(error instanceof Error ? error.message : 'the break could not be sent'),
          )
          .finally(() => (this.#breaking = false));
        return;
    }
  }

  #endOfInput(): void {
    this.#send(this.#escapes.end());
    // A client without input (`ssh -n`, `</dev/null`) only watches.
    if (!this.#hasTyped || this.#ended) return;
    this.#silence = setTimeout(() => {
      if (this.#lost === 0) this.#end(LEFT, 'end of input', { silently: true });
      else this.#end(FAILED, `${this.#lost} bytes of input were lost: the console was not open`);
    }, SILENCE_MS);
  }

  #notice(...lines: readonly string[]): void {
    const { channel, terminal } = this.#options;
    if (this.#ended || !channel.writable || !channel.stderr.writable) return;
    // A client that asks for help and never reads the answer must not fill the memory.
    if (this.#behindBytes() > MAX_BEHIND_BYTES) return;
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
    // A client that never reads cannot complete the close.
    setTimeout(() => channel.close(), GOODBYE_MS).unref();
  }

  #cleanUp(why: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#silence);
    this.#attachment.detach();
    // Discards later input.
    this.#options.channel.resume();
    this.#options.onEnd(why);
  }
}

const help = [
  'at the start of a line:',
  '~.  leaves the console',
  '~B  sends a break',
  '~~  sends a tilde',
  '~?  prints this',
  'Ctrl-] works anywhere, like ~ at the start of a line',
];
