/** One console on one SSH channel: what the guest says goes out, what is typed goes in, and the service's own words in between. */
import type { ServerChannel } from 'ssh2';
import type { ConsoleAttachment, ConsoleHub, ConsoleState } from './console-hub.js';
import { EscapeReader, type EscapeAction } from './ssh-escape.js';

export interface SshConsoleOptions {
  readonly channel: ServerChannel;
  /** What waits in the socket of the connection. The client chooses what the channel takes, up to 4 GiB, so the socket counts, too. */
  readonly unsentBytes: () => number;
  readonly hub: Pick<ConsoleHub, 'attach' | 'sendBreak'>;
  readonly machine: { readonly uuid: string; readonly name: string };
  /** Whether the client has a terminal, in raw mode: it sends Enter as it is, and needs both characters at the end of a line. */
  readonly terminal: boolean;
  /** Called once, when it is over. */
  readonly onEnd: (why: string) => void;
}

/** What a client that is too slow may be behind; an OpenSSH client takes up to 2 MiB before this counts at all. */
const MOST_BEHIND_BYTES = 1024 * 1024;
/** A client that is this little behind has caught up. More than a socket takes at once, so that its `drain` comes for what is beyond. */
const CAUGHT_UP_BYTES = 64 * 1024;
/** What may be typed ahead of the guest. */
const MOST_TYPED_BYTES = 64 * 1024;
/** Who has sent something and closed its end wants the answer: the guest has had its say when it is silent for so long. */
const SILENCE_MS = 2_000;
/** For the last words to go out. */
const GOODBYE_MS = 5_000;

/** Exit statuses of a console. */
const LEFT = 0;
const FAILED = 1;

export class SshConsole {
  readonly #options: SshConsoleOptions;
  readonly #attachment: ConsoleAttachment;
  readonly #escapes = new EscapeReader();
  #state: ConsoleState | undefined;
  /** As the client was last told. */
  #why: string | undefined;
  #ended = false;
  /** Bytes that were left out since the client fell behind. */
  #leftOut = 0;
  /** Bytes that the guest has not taken yet. */
  #typing = 0;
  #hasTyped = false;
  /** Bytes that were typed while there was no console. */
  #lost = 0;
  #wasReturn = false;
  /** A break is on its way. */
  #breaking = false;
  /** Set once the client's end is closed and its answer is waited for. */
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

  /** There is nobody any more to tell. */
  gone(): void {
    this.#cleanUp('the client has gone');
  }

  /** Ends it for a reason that the client is told. */
  end(why: string): void {
    this.#end(FAILED, why);
  }

  #tell(state: ConsoleState, why: string): void {
    const { name } = this.#options.machine;
    const before = this.#state;
    const isNew = why !== this.#why;
    [this.#state, this.#why] = [state, why];
    if (before === undefined) {
      // Not before: what comes through a pipe is there at once, and the console is not.
      const { channel } = this.#options;
      channel.on('data', (bytes: Buffer) => this.#type(bytes));
      channel.on('end', () => this.#endOfInput());
      this.#notice(
        [
          state === 'open'
            ? `Connected to ${name}`
            : `${name}: ${why}${state === 'absent' ? '' : '; this goes on by itself'}`,
          state === 'absent' ? '' : ', escape is ~. (at the start of a line) or Ctrl-] and a dot, ~? helps',
        ].join(''),
      );
    } else if (isNew) this.#notice(state === 'open' ? `connected to ${name}` : `${name}: ${why}`);
    if (state === 'absent') this.#end(FAILED, `${name}: ${why}`, { silently: true });
  }

  #show(bytes: Buffer): void {
    const { channel } = this.#options;
    if (this.#ended) return;
    this.#silence?.refresh();
    if (this.#leftOut > 0 || this.#behindBytes() > MOST_BEHIND_BYTES) {
      this.#leftOut += bytes.length;
      return;
    }
    channel.write(bytes, () => this.caughtUp());
  }

  #behindBytes(): number {
    const { channel, unsentBytes } = this.#options;
    return channel.writableLength + channel.stderr.writableLength + unsentBytes();
  }

  /** Says what was left out once the client has taken the rest; also called when the socket is empty. */
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

  /** Without a terminal, lines come as files have them; the guest expects what the Enter key sends. */
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
    if (this.#typing > MOST_TYPED_BYTES) channel.pause();
    this.#attachment.write(bytes, () => {
      this.#typing -= bytes.length;
      this.#silence?.refresh();
      if (this.#typing <= MOST_TYPED_BYTES && channel.isPaused()) channel.resume();
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
        // One at a time, whatever is pasted: each is a call to the machine's monitor.
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
    // Who never said anything (`ssh -n`, `</dev/null`) is here to watch.
    if (!this.#hasTyped || this.#ended) return;
    this.#silence = setTimeout(() => {
      if (this.#lost === 0) this.#end(LEFT, 'end of input', { silently: true });
      else this.#end(FAILED, `${this.#lost} bytes that were sent went nowhere: the console was not open`);
    }, SILENCE_MS);
  }

  #notice(...lines: readonly string[]): void {
    const { channel, terminal } = this.#options;
    if (this.#ended || !channel.writable || !channel.stderr.writable) return;
    // Who asks for help without end and reads none of it is behind, too.
    if (this.#behindBytes() > MOST_BEHIND_BYTES) return;
    if (terminal) channel.write(`\r\n[${lines.join('\r\n ')}]\r\n`);
    // Standard output is the guest's alone.
    else channel.stderr.write(`${lines.join('\n')}\n`);
  }

  #end(status: number, why: string, { silently = false } = {}): void {
    if (this.#ended) return;
    if (!silently) this.#notice(why);
    const { channel } = this.#options;
    this.#cleanUp(why);
    channel.exit(status);
    channel.end();
    // A client that takes nothing any more never comes to the end.
    setTimeout(() => channel.close(), GOODBYE_MS).unref();
  }

  #cleanUp(why: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#silence);
    this.#attachment.detach();
    // What the client still sends is nobody's.
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
  'anywhere, and where your own ssh takes the ~ for itself: Ctrl-] in its place',
];
