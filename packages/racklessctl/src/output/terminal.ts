/** Standard output and standard error of a command. */
import { plainJson, plainLine, plainText } from '@rackless/daemon/text/plain-text.js';

/** Streams of a process. */
interface TerminalStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** Prints results and messages. Escapes control characters, because parts of the texts come from services. */
export class Terminal {
  readonly streams: TerminalStreams;
  /** Whether a line of {@link showStatus} is visible, which the next output replaces. */
  #hasStatus = false;

  constructor(streams: TerminalStreams) {
    this.streams = streams;
  }

  /** Width of the terminal; undefined if it is unknown, or if standard output is a file or a pipe. */
  get columns(): number | undefined {
    const { stdout } = this.streams;
    // A terminal without a size reports 0.
    return stdout.isTTY && stdout.columns > 0 ? stdout.columns : undefined;
  }

  /** Prints a result to standard output, with a line feed. */
  print(text: string): void {
    this.clearStatus();
    this.streams.stdout.write(`${plainText(text)}\n`);
  }

  /** Prints rows for a program, with a tab between two values. */
  printTabbed(rows: readonly (readonly string[])[]): void {
    this.clearStatus();
    for (const row of rows) this.streams.stdout.write(`${row.map(plainLine).join('\t')}\n`);
  }

  /** Prints a result as JSON with indentation. */
  printJson(value: unknown): void {
    this.clearStatus();
    this.streams.stdout.write(`${plainJson(value)}\n`);
  }

  /** Prints a value as one line of JSON, for streams. */
  printJsonLine(value: unknown): void {
    this.clearStatus();
    this.streams.stdout.write(`${plainJson(value).replace(/\n\s*/g, '')}\n`);
  }

  /** Prints a message to standard error, with a line feed. */
  complain(text: string): void {
    this.clearStatus();
    this.streams.stderr.write(`${plainText(text)}\n`);
  }

  /** Whether {@link showStatus} has an effect: standard error is a terminal. */
  get showsStatus(): boolean {
    return this.streams.stderr.isTTY;
  }

  /**
   * Shows a line that the next output replaces, for example a progress bar. Has no effect if standard
   * error is not a terminal.
   */
  showStatus(line: string): void {
    if (!this.showsStatus) return;
    this.streams.stderr.write(`\r\x1b[K${plainText(line).replaceAll('\n', ' ')}`);
    this.#hasStatus = true;
  }

  /** Removes the line of {@link showStatus}, if there is one. */
  clearStatus(): void {
    if (!this.#hasStatus) return;
    this.streams.stderr.write('\r\x1b[K');
    this.#hasStatus = false;
  }
}
