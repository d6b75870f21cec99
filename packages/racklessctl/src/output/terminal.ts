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
  /** The line of {@link showStatus}, which the next output removes. */
  #status: string | undefined;
  /** The lines of {@link openStatus}, oldest first. */
  readonly #opened = new Set<{ readonly line: string }>();
  /** Whether a status line is visible. */
  #isVisible = false;

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
    this.#write(this.streams.stdout, `${plainText(text)}\n`);
  }

  /** Prints rows for a program, with a tab between two values. */
  printTabbed(rows: readonly (readonly string[])[]): void {
    this.#write(this.streams.stdout, rows.map((row) => `${row.map(plainLine).join('\t')}\n`).join(''));
  }

  /** Prints a result as JSON with indentation. */
  printJson(value: unknown): void {
    this.#write(this.streams.stdout, `${plainJson(value)}\n`);
  }

  /** Prints a value as one line of JSON, for streams. */
  printJsonLine(value: unknown): void {
    this.#write(this.streams.stdout, `${plainJson(value).replace(/\n\s*/g, '')}\n`);
  }

  /** Prints a message to standard error, with a line feed. */
  complain(text: string): void {
    this.#write(this.streams.stderr, `${plainText(text)}\n`);
  }

  /** Whether {@link showStatus} has an effect: standard error is a terminal. */
  get showsStatus(): boolean {
    return this.streams.stderr.isTTY;
  }

  /**
   * Shows a line that the next output removes, for example a progress bar. A line of {@link openStatus} hides it. Has
   * no effect if standard error is not a terminal.
   */
  showStatus(line: string): void {
    this.#status = line;
    this.#draw();
  }

  /** Removes the line of {@link showStatus}, if there is one. */
  clearStatus(): void {
    this.#status = undefined;
    this.#draw();
  }

  /**
   * Shows a line until the returned function is called. Shows the newest of several such lines, with the number of the
   * others. Has no effect if standard error is not a terminal.
   */
  openStatus(line: string): () => void {
    const entry = { line };
    this.#opened.add(entry);
    this.#draw();
    return () => {
      if (this.#opened.delete(entry)) this.#draw();
    };
  }

  #write(stream: NodeJS.WriteStream, text: string): void {
    this.#erase();
    this.#status = undefined;
    if (text !== '') stream.write(text);
    this.#draw();
  }

  #draw(): void {
    if (!this.showsStatus) return;
    const newest = [...this.#opened].at(-1)?.line;
    const others = this.#opened.size > 1 ? ` (and ${this.#opened.size - 1} more)` : '';
    const line = newest === undefined ? this.#status : `${newest}${others}`;
    if (line === undefined) {
      this.#erase();
      return;
    }
    this.streams.stderr.write(`\r\x1b[K${plainText(line).replaceAll('\n', ' ')}`);
    this.#isVisible = true;
  }

  #erase(): void {
    if (!this.#isVisible) return;
    this.streams.stderr.write('\r\x1b[K');
    this.#isVisible = false;
  }
}
