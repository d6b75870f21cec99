import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** What a terminal would obey rather than show: colours, cursor moves, modes, carriage returns. */
// oxlint-disable-next-line no-control-regex -- they begin with a control character
const ESCAPES = /\x1b(\[[0-9;?=]*[A-Za-z]|[()][A-Z0-9])|\r/g;

/**
 * The other end of a guest's serial line. QEMU connects to it (`mode='connect'`), anew with each process: what every boot of a
 * machine has said comes together here, without virtlogd between, which can lose it.
 */
export class SerialLine {
  readonly #server: Server;
  readonly #waiters = new Set<() => void>();
  #socket: Socket | undefined;
  #said = '';
  /** How far {@link says} has read. */
  #read = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#socket = socket;
      socket.setEncoding('latin1');
      // An escape sequence may arrive in two parts: keep what is not yet plain text aside.
      let rest = '';
      socket.on('data', (chunk) => {
        const text = (rest + chunk.toString()).replaceAll(ESCAPES, '');
        const cut = text.lastIndexOf('\x1b');
        rest = cut < 0 || text.length - cut > 16 ? '' : text.slice(cut);
        this.#said += text.slice(0, text.length - rest.length);
        for (const wake of this.#waiters) wake();
      });
      socket.on('error', () => undefined); // QEMU was killed.
    });
  }

  /** Listens on a free port of 127.0.0.1; whoever calls it closes it. */
  static async listen(): Promise<SerialLine> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new SerialLine(server);
  }

  /** The `<serial>` that makes QEMU connect here; where nobody listens a guest does not start. */
  get markup(): string {
    const { port } = this.#server.address() as AddressInfo; // A listening TCP server's address is never a path.
    return `<serial type='tcp'><source mode='connect' host='127.0.0.1' service='${port}'/></serial>`;
  }

  /** Everything said so far, in all boots, without escape sequences; lines end in \n. */
  get said(): string {
    return this.#said;
  }

  /** Types a line, at a prompt. */
  type(line: string): void {
    this.#socket?.write(`${line}\r`);
  }

  /**
   * Waits for something said after what the last call has found. The text may end anywhere: a prompt has no line end.
   * @returns what matched.
   * @throws {Error} with what was said since, after `timeoutMs`.
   */
  async says(pattern: RegExp, timeoutMs = 120_000): Promise<string> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = pattern.exec(this.#said.slice(this.#read));
      if (found !== null) {
        this.#read += found.index + found[0].length;
        return found[0];
      }
      const left = deadline - Date.now();
      if (left <= 0) {
        const since = JSON.stringify(this.#said.slice(this.#read).slice(-2000));
        throw new Error(`the guest has not said ${String(pattern)} within ${timeoutMs} ms, but ${since}`);
      }
      await this.#more(left);
    }
  }

  /** Ends the line; a guest that still runs goes on without it. */
  async close(): Promise<void> {
    this.#socket?.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Until more is said, or the time is over. */
  #more(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiters.add(done);
    });
  }
}
